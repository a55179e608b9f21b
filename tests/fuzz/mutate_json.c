/* JSON, changed so that it stays JSON: what is replaced, doubled or taken away are whole values. */
#include "mutate_json.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { SPANS_MAX = 1024, DEPTH_MAX = 64, SCALARS_MAX = 64 };

/* A value, or with `key` the member of an object up to its value's start. */
typedef struct span {
    size_t at, n;
    size_t key; /* where its key starts, if it has one; else `at` */
} span;

static size_t string_end(const uint8_t *d, size_t size, size_t at) {
    for (at++; at < size && d[at] != '"'; at++)
        at += d[at] == '\\' && at + 1 < size;
    return at < size ? at + 1 : size;
}

static size_t blanks(const uint8_t *d, size_t size, size_t at) {
    while (at < size && isspace(d[at]))
        at++;
    return at;
}

/* Every value of the text, as far as it is JSON. */
static size_t list(span *out, const uint8_t *d, size_t size) {
    size_t n = 0, depth = 0, open[DEPTH_MAX], key = SIZE_MAX;
    for (size_t at = blanks(d, size, 0); at < size && n < SPANS_MAX; at = blanks(d, size, at)) {
        size_t start = at;
        if (d[at] == '{' || d[at] == '[') {
            if (depth == DEPTH_MAX)
                return n;
            open[depth++] = n;
            out[n++] = (span){at++, 0, key == SIZE_MAX ? start : key};
        } else if (d[at] == '}' || d[at] == ']') {
            at++;
            if (depth == 0)
                return n;
            depth--;
            out[open[depth]].n = at - out[open[depth]].at;
        } else if (d[at] == '"') {
            at = string_end(d, size, at);
            size_t next = blanks(d, size, at);
            if (next < size && d[next] == ':') {
                key = start;
                at = next + 1;
                continue;
            }
            out[n++] = (span){start, at - start, key == SIZE_MAX ? start : key};
        } else if (d[at] == ',') {
            at++;
        } else {
            while (at < size && (isalnum(d[at]) || strchr("+-._", d[at])))
                at++;
            at += at == start; /* no JSON */
            out[n++] = (span){start, at - start, key == SIZE_MAX ? start : key};
        }
        key = SIZE_MAX;
    }
    return n;
}

/* The last one is longer than any field. */
static char scalar_text[] =
    "0#1#-1#2#0.1#-0.0#1e308#1e-320#1e400#-1e400#2147483647#2147483648#4294967296#"
    "9223372036854775807#9223372036854775808#-9223372036854775808#17592186044416#1099511627776#"
    "16#null#true#false#[]#{}#[[[[[[]]]]]]#\"\"#\"\\u0000\"#\"\\ud800\"#\"x\\u0000y\"#\"final\"#"
    "\"screen\"#\"correct\"#\"compile\"#\"runtime\"#\"correctness\"#\"timeout\"#\"constraints\"#"
    "\"ok\"#\"crashed\"#\"skipped\"#\"time\"#\"registers\"#\"transpose\"#\"transpose/warm\"#"
    "\"copy\"#\"transpose_in_place\"#\"1.0.0\"#\"seconds\"#\"CompilationFailedConfig\"#"
    "\"InvalidConfig\"#\"__error__\"#\"TILE_DIM\"#32.0#\"2026-01-01T00:00:00Z\"#\"9999-99-99\"#"
    "\"-4713-01-01\"#"
    "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"";

/* Letters and digits inside a word, a number or a string; what would end a string stays out. */
static void change_inside(uint8_t *d, span s, unsigned *r) {
    bool text = d[s.at] == '"';
    size_t from = s.at + text, n = s.n - (text ? 2 : 0);
    if (s.n < 3 && text)
        return;
    size_t at = from + fuzz_random(r, n);
    static const char in_text[] = "abcXYZ019_ /.=-\x7f\xc3\xa9\xff\t'%";
    if (!text)
        d[at] = (uint8_t) "0123456789-+.eE"[fuzz_random(r, 15)];
    else if (d[at] != '\\' && (at == from || d[at - 1] != '\\'))
        d[at] = (uint8_t)in_text[fuzz_random(r, sizeof in_text - 1)];
}

/* A member or element goes with one comma beside it. */
static size_t take_away(uint8_t *d, size_t size, size_t max_size, span s) {
    size_t end = blanks(d, size, s.at + s.n), start = s.key;
    if (end < size && d[end] == ',') {
        end++;
    } else {
        while (start && isspace(d[start - 1]))
            start--;
        start -= start && d[start - 1] == ',';
        end = s.at + s.n;
    }
    return fuzz_splice(d, size, max_size, start, end - start, "", 0);
}

static size_t double_it(uint8_t *d, size_t size, size_t max_size, span s) {
    size_t n = s.at + s.n - s.key, grown = fuzz_splice(d, size, max_size, s.key, 0, d + s.key, n);
    size_t with_comma = grown == size ? size : fuzz_splice(d, grown, max_size, s.key + n, 0, ",", 1);
    if (with_comma == grown && grown != size) /* no room for it */
        return fuzz_splice(d, grown, max_size, s.key, n, "", 0);
    return with_comma;
}

size_t fuzz_mutate_json(uint8_t *d, size_t size, size_t max_size, unsigned seed) {
    static span spans[SPANS_MAX];
    static const char *scalars[SCALARS_MAX];
    static size_t n_scalars;
    n_scalars = n_scalars ? n_scalars : fuzz_split(scalars, SCALARS_MAX, scalar_text);
    unsigned r = seed;
    size_t n = list(spans, d, size);
    if (n < 2 || fuzz_random(&r, 16) == 0)
        return LLVMFuzzerMutate(d, size, max_size);
    span s = spans[1 + fuzz_random(&r, n - 1)], from = spans[fuzz_random(&r, n)];
    const char *scalar = scalars[fuzz_random(&r, n_scalars)];
    switch (fuzz_random(&r, 8)) {
    case 0:
        return take_away(d, size, max_size, s);
    case 1:
        return double_it(d, size, max_size, s);
    case 2:
        return fuzz_splice(d, size, max_size, s.at, s.n, d + from.at, from.n);
    case 3:
    case 4:
        return fuzz_splice(d, size, max_size, s.at, s.n, scalar, strlen(scalar));
    default:
        if (s.n && d[s.at] != '{' && d[s.at] != '[')
            change_inside(d, s, &r);
        else if (s.n)
            return fuzz_splice(d, size, max_size, s.at, s.n, d + from.at, from.n);
        return size;
    }
}
