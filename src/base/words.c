/* ASCII only, so that no locale changes what a template means. */
#include "base/words.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/str.h"

size_t tt__text_count_word(const char *text, const char *word) {
    size_t n = strlen(word), found = 0;
    for (const char *hit = text; (hit = strstr(hit, word)); hit += n)
        found += (hit == text || !tt__is_word_char(hit[-1])) && !tt__is_word_char(hit[n]);
    return found;
}

bool tt__text_has_word(const char *text, const char *word) {
    return tt__text_count_word(text, word) > 0;
}

tt_status tt__template_fail(const char *path, int line, int column, const char *fmt, ...) {
    char text[1024];
    va_list args;
    va_start(args, fmt);
    tt__vformat(text, sizeof text, fmt, args);
    va_end(args);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
    if (column > 0)
        return tt__fail(TT_E_TEMPLATE, "%s:%d:%d: %s", path, line, column, text);
    return tt__fail(TT_E_TEMPLATE, "%s:%d: %s", path, line, text);
}

bool tt__word_is(const char *word, size_t n, const char *name) {
    return strlen(name) == n && memcmp(word, name, n) == 0;
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
