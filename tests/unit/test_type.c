/*
 * Numbers of all types as text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/type.h"

static void test_text(void **state) {
    static const struct {
        tt__type type;
        uint64_t bits;
        const char *text;
    } cases[] = {
        {TT__TYPE_BOOL, 1, "1"},
        {TT__TYPE_I8, 0x80, "-128"},
        {TT__TYPE_U8, 0x80, "128"},
        {TT__TYPE_I16, 0xfffe, "-2"},
        {TT__TYPE_U16, 0xfffe, "65534"},
        {TT__TYPE_I32, 0x7fffffff, "2147483647"},
        {TT__TYPE_I32, 0x80000000, "-2147483648"},
        {TT__TYPE_U32, 0x80000000, "2147483648"},
        {TT__TYPE_I64, UINT64_MAX, "-1"},
        {TT__TYPE_U64, UINT64_MAX, "18446744073709551615"},
        {TT__TYPE_F16, 0xc500, "-5"},
        {TT__TYPE_BF16, 0x3fc0, "1.5"},
        {TT__TYPE_E4M3, 0x7e, "448"},
        {TT__TYPE_E5M2, 0x7b, "5.734e+04"},
        {TT__TYPE_F32, 0x40600000, "3.5"},
        {TT__TYPE_F64, 0xbfe0000000000000, "-0.5"},
        {TT__TYPE_ELEM, 0xff00, "0x0000ff00"},
    };
    char text[64];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(tt__type_text(text, sizeof text, cases[i].type, 4, &cases[i].bits),
                            cases[i].text);
}

static void test_names_of_cxx(void **state) {
    static const struct {
        const char *name, *meant;
        int bytes;
    } cases[] = {
        {"float", "f32", 4},
        {"long long", "i64", 8},
        {"unsigned", "u32", 4},
        {"unsigned long long int", "u64", 8},
        {"int unsigned", "u32", 4},
        {"const unsigned char", "u8", 1},
        {"short int", "i16", 2},
        {"size_t", "u64", 8},
        {"float3", "f32x3", 12},
        {"ulonglong2", "u64x2", 16},
        {"uchar4", "u8x4", 4},
        {"dim3", "u32x3", 12},
        {"__nv_bfloat16", "bf16", 2},
        {"const float *", NULL, 8},
        {"f32x4", NULL, 16},
        {"u8x24", NULL, 24},
        {"bool", NULL, 1},
        {"float5", NULL, 0},
        {"x4", NULL, 0},
        {"f32x", NULL, 0},
        {"long char", NULL, 0},
        {"const", NULL, 0},
        {"mine", NULL, 0},
        {"", NULL, 0},
    };
    char meant[TT__TYPE_TEXT_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t n = strlen(cases[i].name);
        assert_int_equal(tt__type_meant(meant, cases[i].name, n), cases[i].meant != NULL);
        if (cases[i].meant)
            assert_string_equal(meant, cases[i].meant);
        assert_int_equal(tt__type_bytes(cases[i].name, n), cases[i].bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text), cmocka_unit_test(test_names_of_cxx)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
