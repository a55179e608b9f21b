/* Bars and curves of characters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tuner/cli/shell/table.h"

static void test_bar(void **state) {
    (void)state;
    char out[TT__SPARK_BYTES];
    assert_string_equal(tt__spark_bar(out, 0, 4), "");
    assert_string_equal(tt__spark_bar(out, 0.5, 4), "██");
    assert_string_equal(tt__spark_bar(out, 1, 3), "███");
    assert_string_equal(tt__spark_bar(out, 1.0 / 8, 1), "▏");
    assert_string_equal(tt__spark_bar(out, 1.5 / 2, 2), "█▌");
    assert_string_equal(tt__spark_bar(out, 7, 2), "██");
    assert_int_equal(strlen(tt__spark_bar(out, 1, TT__SPARK_MAX)), TT__SPARK_BYTES - 1);
}

static void test_line(void **state) {
    (void)state;
    char out[TT__SPARK_BYTES];
    assert_string_equal(tt__spark_line(out, (double[]){8, 4.5, 1}, 3), "█▅▁");
    assert_string_equal(tt__spark_line(out, (double[]){3, 3}, 2), "▁▁");
    assert_string_equal(tt__spark_line(out, NULL, 0), "");
}

static void test_columns(void **state) {
    (void)state;
    assert_int_equal(tt__spark_columns("ab▏c", 6), 4);
    assert_int_equal(tt__spark_columns("ab", 9), 2);
    assert_int_equal(tt__spark_columns("▏▏", 3), 1);
}

static void test_can(void **state) {
    (void)state;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    setenv("LC_ALL", "C.UTF-8", 1);
    assert_false(tt__spark_can(pipes[1])); /* no terminal */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bar),
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_can),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
