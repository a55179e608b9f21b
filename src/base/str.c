/*
 * The growing string, and helpers for copying and comparing text.
 */
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

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

char tt__small_letter(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool tt__same_lettersn(const char *a, const char *b, size_t n) {
    size_t i = 0;
    while (i < n && a[i] && tt__small_letter(a[i]) == tt__small_letter(b[i]))
        i++;
    return i == n || tt__small_letter(a[i]) == tt__small_letter(b[i]);
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
    return (c >= '0' && c <= '9') || (tt__small_letter(c) >= 'a' && tt__small_letter(c) <= 'z');
}
