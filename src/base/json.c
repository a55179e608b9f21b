/* The JSON writer. */
#include "base/json.h"

#include <math.h>
#include <string.h>

#include "base/str.h"

static bool is_plain(char c) {
    return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

static size_t count_plain(const char *text, size_t n) {
    size_t i = 0;
    while (i < n && is_plain(text[i]))
        i++;
    return i;
}

/* `after` follows the quote. */
static void quote(tt__str *out, const char *text, size_t n, const char *after) {
    char whole[64];
    const size_t n_after = strlen(after);
    if (n + 2 + n_after <= sizeof whole && count_plain(text, n) == n) { /* nearly all */
        whole[0] = whole[n + 1] = '"';
        memcpy(whole + 1, text, n);
        memcpy(whole + n + 2, after, n_after);
        tt__str_addn(out, whole, n + 2 + n_after);
        return;
    }
    tt__str_add(out, "\"");
    for (size_t i = 0, bytes; i < n; i += bytes) {
        unsigned char c = (unsigned char)text[i];
        bytes = count_plain(&text[i], n - i);
        if (bytes) {
            tt__str_addn(out, &text[i], bytes);
            continue;
        }
        bytes = tt__utf8_length(&text[i]);
        bool whole = bytes && bytes <= n - i, control = whole && tt__is_control(&text[i]);
        bytes = whole ? bytes : 1;
        if (c == '"' || c == '\\')
            tt__str_addf(out, "\\%c", c);
        else if (control && bytes < 3)
            tt__str_addf(out, "\\u%04x", bytes == 1 ? c : (unsigned char)text[i + 1]);
        else
            tt__str_addn(out, whole && !control ? &text[i] : "???", bytes);
    }
    tt__str_add(out, "\"");
    tt__str_add(out, after);
}

static void begin(tt__json *j, const char *key, size_t key_len) {
    if (j->filled[j->depth])
        tt__str_add(j->out, ",");
    j->filled[j->depth] = true;
    if (key)
        quote(j->out, key, key_len, ":");
}

static void begin_key(tt__json *j, const char *key) {
    begin(j, key, key ? strlen(key) : 0);
}

void tt__json_open(tt__json *j, const char *key, char bracket) {
    begin_key(j, key);
    tt__str_addn(j->out, &bracket, 1);
    if (j->depth + 1 < (int)(sizeof j->filled / sizeof *j->filled))
        j->depth++;
    j->filled[j->depth] = false;
}

void tt__json_close(tt__json *j, char bracket) {
    tt__str_addn(j->out, &bracket, 1);
    if (j->depth > 0)
        j->depth--;
}

void tt__json_string(tt__json *j, const char *key, const char *value) {
    begin_key(j, key);
    quote(j->out, value, strlen(value), "");
}

void tt__json_true(tt__json *j, const char *key) {
    begin_key(j, key);
    tt__str_add(j->out, "true");
}

void tt__json_int(tt__json *j, const char *key, int64_t value) {
    begin_key(j, key);
    char text[TT__INTEGER_TEXT_MAX];
    tt__str_addn(j->out, text, tt__integer_text(text, value));
}

static void add_fixed(tt__str *out, int64_t units, int places) {
    char text[24], *at = text + sizeof text;
    bool digits = false; /* of a fraction, a zero at the end is not written */
    for (uint64_t left = (uint64_t)units; places >= 0 || left; left /= 10, places--) {
        digits = digits || left % 10 || places <= 0;
        if (digits)
            *--at = (char)('0' + left % 10);
        if (digits && places == 1)
            *--at = '.';
    }
    tt__str_addn(out, at, (size_t)(text + sizeof text - at));
}

void tt__json_fixed(tt__json *j, const char *key, int64_t units, int places) {
    begin_key(j, key);
    add_fixed(j->out, units, places);
}

/* Adds what printf adds for usual numbers, in a tenth of its time. False: it is not one, or so near to the
 * middle between two texts that the last bit decides. */
static bool add_usual(tt__str *out, double value, int digits) {
    static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12};
    enum { DIGITS_MAX = 9 };
    int places = digits - 1;
    if (value == 0 && !signbit(value)) {
        tt__str_add(out, "0");
        return true;
    }
    if (digits > DIGITS_MAX || !(value >= 1e-4 && value < powers[digits]))
        return false;
    for (int i = 1; value >= powers[i]; i++)
        places--;
    for (double below = 1; value < below; below /= 10)
        places++;
    const double units = value * powers[places];
    int64_t n = (int64_t)units;
    const double rest = units - (double)n;
    n += rest > 0.5;
    if (fabs(rest - 0.5) < 1e-6 || n < (int64_t)powers[digits - 1] || n >= (int64_t)powers[digits])
        return false;
    add_fixed(out, n, places);
    return true;
}

void tt__json_number(tt__json *j, const char *key, double value, int digits) {
    begin_key(j, key);
    if (!isfinite(value))
        tt__str_add(j->out, "null");
    else if (!add_usual(j->out, value, digits))
        tt__str_addf(j->out, "%.*g", digits, value);
}

void tt__json_value(tt__json *j, const char *key, size_t n_key, const char *value, size_t n) {
    size_t digits = strspn(value, "0123456789");
    bool zero_led = value[0] == '0' && n > 1;
    begin(j, key, n_key);
    if (n && digits >= n && !zero_led)
        tt__str_addn(j->out, value, n);
    else
        quote(j->out, value, n, "");
}

void tt__json_settings(tt__json *j, const char *config) {
    for (const char *p = config; *p;) {
        size_t n = strcspn(p, " ");
        const char *eq = memchr(p, '=', n);
        if (eq)
            tt__json_value(j, p, (size_t)(eq - p), eq + 1, n - (size_t)(eq + 1 - p));
        p += n;
        p += strspn(p, " ");
    }
}

void tt__json_config(tt__json *j, const char *key, const char *config) {
    tt__json_open(j, key, '{');
    tt__json_settings(j, config);
    tt__json_close(j, '}');
}
