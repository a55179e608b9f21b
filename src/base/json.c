/* The JSON writer. */
#include "base/json.h"

#include <math.h>
#include <string.h>

#include "base/str.h"

static bool is_plain(char c) {
    return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

static void quote(tt__str *out, const char *text, size_t n) {
    tt__str_add(out, "\"");
    for (size_t i = 0, bytes; i < n; i += bytes) {
        unsigned char c = (unsigned char)text[i];
        for (bytes = 0; i + bytes < n && is_plain(text[i + bytes]);)
            bytes++;
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
}

static void begin(tt__json *j, const char *key, size_t key_len) {
    if (j->filled[j->depth])
        tt__str_add(j->out, ",");
    j->filled[j->depth] = true;
    if (key) {
        quote(j->out, key, key_len);
        tt__str_add(j->out, ":");
    }
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
    quote(j->out, value, strlen(value));
}

void tt__json_true(tt__json *j, const char *key) {
    begin_key(j, key);
    tt__str_add(j->out, "true");
}

void tt__json_int(tt__json *j, const char *key, int64_t value) {
    begin_key(j, key);
    tt__str_addf(j->out, "%lld", (long long)value);
}

void tt__json_number(tt__json *j, const char *key, double value, int digits) {
    begin_key(j, key);
    if (isfinite(value))
        tt__str_addf(j->out, "%.*g", digits, value);
    else
        tt__str_add(j->out, "null");
}

void tt__json_fixed(tt__json *j, const char *key, int64_t units, int places) {
    char text[24], *at = text + sizeof text;
    bool digits = false; /* of a fraction, a zero at the end is not written */
    begin_key(j, key);
    for (uint64_t left = (uint64_t)units; places >= 0 || left; left /= 10, places--) {
        digits = digits || left % 10 || places <= 0;
        if (digits)
            *--at = (char)('0' + left % 10);
        if (digits && places == 1)
            *--at = '.';
    }
    tt__str_addn(j->out, at, (size_t)(text + sizeof text - at));
}

void tt__json_value(tt__json *j, const char *key, size_t n_key, const char *value, size_t n) {
    size_t digits = strspn(value, "0123456789");
    bool zero_led = value[0] == '0' && n > 1;
    begin(j, key, n_key);
    if (n && digits >= n && !zero_led)
        tt__str_addn(j->out, value, n);
    else
        quote(j->out, value, n);
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
