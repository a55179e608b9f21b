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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
