/*
 * The table of types, and their values as text.
 */
#include "base/type.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "base/str.h"

const tt__type_info tt__types[TT__TYPE_COUNT] = {
    [TT__TYPE_NONE] = {"", "", 0, false, 0, false},
    [TT__TYPE_BOOL] = {"bool", "bool", 1, false, 0, true},
    [TT__TYPE_I8] = {"i8", "signed char", 1, false, 0, true},
    [TT__TYPE_U8] = {"u8", "unsigned char", 1, false, 0, true},
    [TT__TYPE_I16] = {"i16", "short", 2, false, 0, true},
    [TT__TYPE_U16] = {"u16", "unsigned short", 2, false, 0, true},
    [TT__TYPE_I32] = {"i32", "int", 4, false, 0, true},
    [TT__TYPE_U32] = {"u32", "unsigned int", 4, false, 0, true},
    [TT__TYPE_I64] = {"i64", "long long", 8, false, 0, true},
    [TT__TYPE_U64] = {"u64", "unsigned long long", 8, false, 0, true},
    [TT__TYPE_F16] = {"f16", "unsigned short", 2, true, 65504, true},
    [TT__TYPE_BF16] = {"bf16", "unsigned short", 2, true, FLT_MAX, true},
    [TT__TYPE_F32] = {"f32", "float", 4, true, FLT_MAX, true},
    [TT__TYPE_F64] = {"f64", "double", 8, true, DBL_MAX, true},
    [TT__TYPE_E4M3] = {"e4m3", "unsigned char", 1, true, 448, false},
    [TT__TYPE_E5M2] = {"e5m2", "unsigned char", 1, true, 57344, false},
    [TT__TYPE_ELEM] = {"elem", "", 0, false, 0, false},
};

tt__type tt__type_named(const char *name, size_t n) {
    for (tt__type t = TT__TYPE_NONE + 1; t < TT__TYPE_COUNT; t++)
        if (strlen(tt__types[t].name) == n && memcmp(name, tt__types[t].name, n) == 0)
            return t;
    return TT__TYPE_NONE;
}

/* ---- Types as C++ has them ----------------------------------------------------------------------------- */

/* The next word, without the blanks around it. */
static size_t take_word(const char **at, const char *end) {
    while (*at < end && (**at == ' ' || **at == '\t'))
        ++*at;
    const char *start = *at;
    while (*at < end && tt__is_word_char(**at))
        ++*at;
    return (size_t)(*at - start);
}

/* unsigned long long int and its like, in any order. */
static tt__type integer_meant(const char *at, size_t n) {
    static const char *const words[] = {"unsigned", "signed", "char", "short", "long", "int", "const"};
    enum { UNSIGNED, SIGNED, CHAR, SHORT, LONG, INT, CONST };
    const char *end = at + n;
    int seen[TT__COUNT(words)] = {0};
    for (size_t length; (length = take_word(&at, end)) > 0;) {
        size_t k = 0;
        while (k < TT__COUNT(words) && !tt__word_is(at - length, length, words[k]))
            k++;
        if (k == TT__COUNT(words))
            return TT__TYPE_NONE;
        seen[k]++;
    }
    const int kinds = (seen[CHAR] > 0) + (seen[SHORT] > 0) + (seen[LONG] > 0);
    if (at != end || kinds > 1 || (kinds == 0 && !seen[INT] && !seen[UNSIGNED] && !seen[SIGNED]))
        return TT__TYPE_NONE;
    const tt__type type = seen[CHAR]    ? TT__TYPE_I8
                          : seen[SHORT] ? TT__TYPE_I16
                          : seen[LONG]  ? TT__TYPE_I64
                                        : TT__TYPE_I32;
    return type + (seen[UNSIGNED] > 0); /* the unsigned one is behind it */
}

static tt__type one_meant(const char *name, size_t n) {
    static const struct {
        const char *name;
        tt__type type;
    } others[] = {
        {"float", TT__TYPE_F32},          {"double", TT__TYPE_F64},         {"half", TT__TYPE_F16},
        {"__half", TT__TYPE_F16},         {"__nv_bfloat16", TT__TYPE_BF16}, {"uint", TT__TYPE_U32},
        {"ushort", TT__TYPE_U16},         {"uchar", TT__TYPE_U8},           {"ulong", TT__TYPE_U64},
        {"longlong", TT__TYPE_I64},       {"ulonglong", TT__TYPE_U64},      {"int8_t", TT__TYPE_I8},
        {"uint8_t", TT__TYPE_U8},         {"int16_t", TT__TYPE_I16},        {"uint16_t", TT__TYPE_U16},
        {"int32_t", TT__TYPE_I32},        {"uint32_t", TT__TYPE_U32},       {"int64_t", TT__TYPE_I64},
        {"uint64_t", TT__TYPE_U64},       {"size_t", TT__TYPE_U64},         {"ptrdiff_t", TT__TYPE_I64},
        {"__nv_fp8_e4m3", TT__TYPE_E4M3}, {"__nv_fp8_e5m2", TT__TYPE_E5M2},
    };
    for (size_t i = 0; i < TT__COUNT(others); i++)
        if (tt__word_is(name, n, others[i].name))
            return others[i].type;
    return integer_meant(name, n);
}

bool tt__type_meant(char out[TT__TYPE_TEXT_MAX], const char *name, size_t n) {
    const char lanes = n > 1 && name[n - 1] >= '2' && name[n - 1] <= '4' ? name[n - 1] : '\0';
    tt__type type = one_meant(name, n);
    if (tt__word_is(name, n, "dim3")) {
        tt__copy(out, TT__TYPE_TEXT_MAX, "u32x3");
        return true;
    }
    if (!type && lanes && (type = one_meant(name, n - 1)) != TT__TYPE_NONE)
        tt__format(out, TT__TYPE_TEXT_MAX, "%sx%c", tt__types[type].name, lanes);
    else if (type)
        tt__copy(out, TT__TYPE_TEXT_MAX, tt__types[type].name);
    return type != TT__TYPE_NONE;
}

int tt__type_bytes(const char *name, size_t n) {
    char meant[TT__TYPE_TEXT_MAX];
    if (n > 1 && name[n - 1] == '*')
        return 8;
    if (tt__type_meant(meant, name, n)) {
        name = meant;
        n = strlen(meant);
    }
    int lanes = 1;
    size_t digits = 0;
    while (digits < n && tt__is_digit(name[n - digits - 1]))
        digits++;
    if (digits > 0 && digits < 5 && n > digits + 1 && name[n - digits - 1] == 'x') {
        lanes = atoi(name + n - digits);
        n -= digits + 1;
    }
    return lanes * tt__types[tt__type_named(name, n)].size;
}

/* ---- Numbers ------------------------------------------------------------------------------------------- */

void tt__type_range(double *least, double *most, tt__type type) {
    const tt__type_info *info = &tt__types[type];
    const bool is_signed = info->floating || *info->name == 'i';
    const int bits = type == TT__TYPE_BOOL ? 1 : 8 * info->size - is_signed; /* without the sign */
    *most = info->floating ? info->most : ldexp(1, bits) - 1;
    *least = !is_signed ? 0 : info->floating ? -*most : -*most - 1;
}

static double half(uint16_t bits) {
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double value = exponent == 31  ? (mantissa ? (double)NAN : (double)INFINITY)
                   : exponent == 0 ? ldexp(mantissa, -24)
                                   : ldexp(1024 + mantissa, exponent - 25);
    return bits >> 15 ? -value : value;
}

static double bfloat(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float f;
    memcpy(&f, &wide, sizeof f);
    return (double)f;
}

/* The bits of a number, rounded to nearest. */
static uint16_t bf16_of(double value) {
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16); /* the upper half of an f32, ties to even */
}

static uint16_t f16_of(double value) {
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs(value);
    int exponent;
    frexp(size, &exponent);
    int step = exponent < -13 ? -24 : exponent - 11; /* power of two of the last bit */
    double steps = rint(ldexp(size, -step));
    if (!(ldexp(steps, step) < 65520))
        return (uint16_t)(sign | 0x7c00);
    /* A full mantissa carries into the exponent by itself. */
    return (uint16_t)(sign |
                      (step == -24 ? (unsigned)steps : (unsigned)((step + 24) << 10) + (unsigned)steps));
}

/* e4m3 has no infinity, and one NaN of either sign. e5m2 is the upper half of an f16. */
static double e4m3(uint8_t bits) {
    int exponent = bits >> 3 & 15, mantissa = bits & 7;
    double value = (bits & 127) == 127 ? (double)NAN
                   : exponent == 0     ? ldexp(mantissa, -9)
                                       : ldexp(8 + mantissa, exponent - 10);
    return bits >> 7 ? -value : value;
}

char *tt__type_text(char *out, size_t size, tt__type type, int elem_size, const void *at) {
    union {
        unsigned char bytes[16];
        uint8_t u8;
        uint16_t u16;
        uint64_t u64;
        float f32;
        double f64;
    } v = {{0}};
    size_t n = (size_t)tt__type_size(type, elem_size), used = 2;
    const int unused = 64 - 8 * (int)n; /* bits of u64 */
    memcpy(&v, at, n);
    switch (type) {
    case TT__TYPE_I8:
    case TT__TYPE_I16:
    case TT__TYPE_I32:
    case TT__TYPE_I64:
        snprintf(out, size, "%" PRId64, (int64_t)(v.u64 << unused) >> unused);
        break;
    case TT__TYPE_BOOL:
    case TT__TYPE_U8:
    case TT__TYPE_U16:
    case TT__TYPE_U32:
    case TT__TYPE_U64:
        snprintf(out, size, "%" PRIu64, v.u64);
        break;
    case TT__TYPE_F16:
        tt__format(out, size, "%.5g", half(v.u16));
        break;
    case TT__TYPE_BF16:
        tt__format(out, size, "%.4g", bfloat(v.u16));
        break;
    case TT__TYPE_E4M3:
        tt__format(out, size, "%.4g", e4m3(v.u8));
        break;
    case TT__TYPE_E5M2:
        tt__format(out, size, "%.4g", half((uint16_t)(v.u8 << 8)));
        break;
    case TT__TYPE_F32:
        tt__format(out, size, "%.9g", (double)v.f32);
        break;
    case TT__TYPE_F64:
        tt__format(out, size, "%.17g", v.f64);
        break;
    default: /* most significant byte first */
        snprintf(out, size, "0x");
        for (size_t i = n; i-- > 0 && used + 2 < size; used += 2)
            snprintf(out + used, size - used, "%02x", v.bytes[i]);
    }
    return out;
}

void tt__type_store(void *to, tt__type type, int64_t i, double f) {
    const float single = (float)f;
    const uint16_t half = type == TT__TYPE_F16 ? f16_of(f) : bf16_of(f);
    const void *from = type == TT__TYPE_F64                            ? (const void *)&f
                       : type == TT__TYPE_F32                          ? (const void *)&single
                       : type == TT__TYPE_F16 || type == TT__TYPE_BF16 ? (const void *)&half
                                                                       : (const void *)&i;
    memcpy(to, from, (size_t)tt__types[type].size); /* of an integer the lower bytes, which come first */
}
