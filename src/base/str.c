/*
 * Text. Letters are ASCII's and numbers are of the locale "C", so that the host's locale changes nothing.
 */
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Numbers: the calling thread, and no other, is in the locale "C" meanwhile */

/* newlocale returns a static object for "C", which is never freed. */
locale_t tt__plain_enter(void) {
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return uselocale(plain); /* if newlocale failed, this is 0 and changes nothing */
}

void tt__plain_leave(locale_t before) {
    uselocale(before);
}

double tt__strtod(const char *text, char **end) {
    locale_t before = tt__plain_enter();
    double value = strtod(text, end);
    tt__plain_leave(before);
    return value;
}

int tt__vformat(char *out, size_t size, const char *fmt, va_list args) {
    locale_t before = tt__plain_enter();
    int n = vsnprintf(out, size, fmt, args);
    tt__plain_leave(before);
    return n;
}

int tt__format(char *out, size_t size, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    int n = tt__vformat(out, size, fmt, args);
    va_end(args);
    return n;
}

size_t tt__integer_text(char out[TT__INTEGER_TEXT_MAX], int64_t number) {
    char digits[TT__INTEGER_TEXT_MAX];
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do
        digits[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0)
        digits[--at] = '-';
    memcpy(out, digits + at, sizeof digits - at);
    return sizeof digits - 1 - at;
}

/* ---- The string that grows, and copies */

enum { PIECE_BYTES = 1 << 16 };

static void write_piece(tt__str *s) {
    errno = 0;
    if (!s->failed && s->len && fwrite(s->text, 1, s->len, s->to) != s->len) {
        s->error = errno ? errno : EIO;
        s->failed = true;
    }
    s->written += s->len;
    s->len = 0;
}

static bool reserve(tt__str *s, size_t more) {
    if (s->to && s->len >= PIECE_BYTES)
        write_piece(s);
    if (s->failed)
        return false;
    if (s->len + more + 1 <= s->cap)
        return true;
    size_t cap = s->cap ? s->cap : 64;
    while (cap < s->len + more + 1)
        cap *= 2;
    char *text = realloc(s->text, cap);
    if (!text) {
        s->failed = true;
        return false;
    }
    s->text = text;
    s->cap = cap;
    return true;
}

void tt__str_addn(tt__str *s, const void *bytes, size_t n) {
    if (!reserve(s, n))
        return;
    if (n)
        memcpy(s->text + s->len, bytes, n);
    s->len += n;
    s->text[s->len] = '\0';
}

void tt__str_add(tt__str *s, const char *text) {
    tt__str_addn(s, text, strlen(text));
}

void tt__str_addf(tt__str *s, const char *fmt, ...) {
    enum { USUAL = 60 };
    va_list args;
    if (!reserve(s, USUAL))
        return;
    va_start(args, fmt);
    int n = tt__vformat(s->text + s->len, s->cap - s->len, fmt, args);
    va_end(args);
    if (n >= 0 && (size_t)n >= s->cap - s->len && reserve(s, (size_t)n)) {
        va_start(args, fmt);
        n = tt__vformat(s->text + s->len, (size_t)n + 1, fmt, args);
        va_end(args);
    }
    if (n < 0 || s->failed)
        s->text[s->len] = '\0';
    else
        s->len += (size_t)n;
}

void tt__str_add_word(tt__str *s, const char *word) {
    const bool plain = !word[strcspn(word, " \t\n\"'\\$`|&;<>()*?[]{}~#!")];
    tt__str_add(s, plain ? "" : "'");
    for (; *word; word++)
        tt__str_addn(s, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
    tt__str_add(s, plain ? "" : "'");
}

void tt__str_free(tt__str *s) {
    free(s->text);
    *s = (tt__str){0};
}

const char *tt__str_text(const tt__str *s) {
    return s->text ? s->text : "";
}

tt_status tt__str_check(const tt__str *s) {
    if (s->error)
        return tt__fail(TT_E_IO, "cannot write: %s", strerror(s->error));
    return s->failed ? tt__fail_memory(s->cap * 2) : TT_OK;
}

tt_status tt__str_flush(tt__str *s) {
    if (s->to)
        write_piece(s);
    return tt__str_check(s);
}

void tt__copy(char *out, size_t size, const char *text) {
    size_t n = strlen(text);
    if (n >= size)
        n = size - 1;
    memcpy(out, text, n);
    out[n] = '\0';
}

void tt__copy_short(char *out, size_t size, const char *text) {
    tt__copy(out, size, text);
    if (strlen(text) >= size)
        tt__copy(out + size - 4, 4, "...");
}

/* ---- Letters and words */

static char small_letter(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool tt__same_lettersn(const char *a, const char *b, size_t n) {
    size_t i = 0;
    while (i < n && a[i] && small_letter(a[i]) == small_letter(b[i]))
        i++;
    return i == n || small_letter(a[i]) == small_letter(b[i]);
}

bool tt__same_letters(const char *a, const char *b) {
    return tt__same_lettersn(a, b, (size_t)-1);
}

bool tt__has_letters(const char *text, const char *part) {
    size_t n = strlen(part);
    for (; strlen(text) >= n; text++)
        if (tt__same_lettersn(text, part, n))
            return true;
    return false;
}

bool tt__is_alnum(char c) {
    return (c >= '0' && c <= '9') || (small_letter(c) >= 'a' && small_letter(c) <= 'z');
}

bool tt__same_word(const char *word, size_t n, const char *name) {
    return strlen(name) == n && tt__same_lettersn(word, name, n);
}

int tt__truth(const char *word, size_t n) {
    return tt__same_word(word, n, "true") ? 1 : tt__same_word(word, n, "false") ? 0 : -1;
}

bool tt__is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool tt__is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool tt__is_word_char(char c) {
    return tt__is_letter(c) || tt__is_digit(c);
}

bool tt__is_word(const char *text, size_t n) {
    if (n == 0 || !tt__is_letter(*text))
        return false;
    for (size_t i = 1; i < n; i++)
        if (!tt__is_word_char(text[i]))
            return false;
    return true;
}

bool tt__is_integer(const char *text, size_t n) {
    char copy[24];
    size_t sign = n > 0 && *text == '-';
    if (n == sign || n >= sizeof copy || (text[sign] == '0' && n > 1))
        return false;
    for (size_t i = sign; i < n; i++)
        if (!tt__is_digit(text[i]))
            return false;
    tt__copy(copy, n + 1, text);
    errno = 0;
    strtoll(copy, NULL, 10);
    return errno == 0;
}

static size_t digits(const char *text, size_t n, size_t from) {
    while (from < n && tt__is_digit(text[from]))
        from++;
    return from;
}

bool tt__is_real(const char *text, size_t n) {
    size_t start = n > 0 && *text == '-', whole = digits(text, n, start), end = whole;
    bool fraction = end < n && text[end] == '.';
    if (whole == start || n > 40)
        return false;
    end = fraction ? digits(text, n, end + 1) : end;
    bool exponent = end < n && (text[end] == 'e' || text[end] == 'E');
    if (exponent) {
        size_t from = end + 1 + (end + 1 < n && (text[end + 1] == '-' || text[end + 1] == '+'));
        end = digits(text, n, from);
        if (end == from)
            return false;
    }
    end += end < n && text[end] == 'f';
    return (fraction || exponent) && end == n;
}

size_t tt__text_count_word(const char *text, const char *word) {
    size_t n = strlen(word), found = 0;
    for (const char *hit = text; (hit = strstr(hit, word)); hit += n)
        found += (hit == text || !tt__is_word_char(hit[-1])) && !tt__is_word_char(hit[n]);
    return found;
}

bool tt__text_has_word(const char *text, const char *word) {
    return tt__text_count_word(text, word) > 0;
}

/* ---- Text of others */

size_t tt__utf8_length(const char *text) {
    const unsigned char *p = (const unsigned char *)text;
    size_t n = *p < 0x80                 ? 1
               : *p >= 0xc2 && *p < 0xe0 ? 2
               : *p >= 0xe0 && *p < 0xf0 ? 3
               : *p >= 0xf0 && *p < 0xf5 ? 4
                                         : 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool surrogate = p[0] == 0xed && p[1] >= 0xa0, beyond = p[0] == 0xf4 && p[1] >= 0x90;
    return overlong || surrogate || beyond ? 0 : n;
}

bool tt__is_control(const char *text) {
    const unsigned char *p = (const unsigned char *)text;
    if (*p < 0x80)
        return (*p && *p < 0x20) || *p == 0x7f;
    if (*p == 0xc2)
        return p[1] < 0xa0;                                                 /* U+0080 to U+009F */
    return *p == 0xe2 && ((p[1] == 0x80 && p[2] >= 0xa8 && p[2] <= 0xae) || /* U+2028 to U+202E */
                          (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9));  /* U+2066 to U+2069 */
}

void tt__clean(char *text, const char *keep) {
    for (size_t n; *text; text += n) {
        n = 1;
        if (*text >= ' ' && *text < 0x7f)
            continue; /* nearly all */
        n = tt__utf8_length(text);
        if (n && (!tt__is_control(text) || strchr(keep, *text)))
            continue;
        n = n ? n : 1;
        memset(text, '?', n);
    }
}

/* ---- The nearest name */

enum { WORD_MAX = 64 };

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* The distance is the number of letters to insert, drop, replace or swap with a neighbour. Case is ignored. A
 * name is near if its distance is at most a third of the word's length. */
static size_t distance(const char *a, size_t n_a, const char *b, size_t n_b) {
    unsigned char d[WORD_MAX + 1][WORD_MAX + 1];
    for (size_t i = 0; i <= n_a; i++)
        d[i][0] = (unsigned char)i;
    for (size_t j = 0; j <= n_b; j++)
        d[0][j] = (unsigned char)j;
    for (size_t i = 1; i <= n_a; i++)
        for (size_t j = 1; j <= n_b; j++) {
            size_t replaced = d[i - 1][j - 1] + (small_letter(a[i - 1]) != small_letter(b[j - 1]));
            d[i][j] = (unsigned char)least(replaced, 1 + least(d[i - 1][j], d[i][j - 1]));
            if (i > 1 && j > 1 && small_letter(a[i - 1]) == small_letter(b[j - 2]) &&
                small_letter(a[i - 2]) == small_letter(b[j - 1]))
                d[i][j] = (unsigned char)least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[n_a][n_b];
}

tt__suggest tt__suggest_for(const char *word, size_t n) {
    tt__suggest s = {.word = word, .n = n, .distance = least(1 + n / 3, n)};
    return s;
}

void tt__suggest_try(tt__suggest *s, const char *name) {
    size_t n = strlen(name);
    size_t apart = n > s->n ? n - s->n : s->n - n; /* at least so many letters are inserted or dropped */
    if (s->n > WORD_MAX || n > WORD_MAX || apart >= s->distance)
        return;
    size_t d = distance(s->word, s->n, name, n);
    if (d < s->distance) {
        s->distance = d;
        s->best = name;
    }
}

const char *tt__suggest_text(tt__suggest *s) {
    s->text[0] = '\0';
    if (s->best)
        snprintf(s->text, sizeof s->text, "; did you mean %s?", s->best);
    return s->text;
}
