/*
 * Spaces that are too large to list, on the CPU stand-in: checked, tuned, continued. And a budget that is
 * hardly any.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "run.h"
#include "write_in.h"

enum { EXIT_SKIPPED = 77, PARAMS = 21 };

static const char *folder;

/* 21 parameters, 3.5e9 combinations, 2 * 3^18 legal ones. It adds a number that parameters do not change.
 */
static int enter(void **state) {
    (void)state;
    tt__str s = {0}, last = {0};
    folder = run_enter_on_standins();
    tt__str_add(&s, "//@ kernel large\n//@ problem n 1000\n//@ buffer x f32 n inout\n");
    for (int i = 0; i < PARAMS - 1; i++) {
        tt__str_addf(&s, "//@ runtime P%d 1 2 3\n", i);
        tt__str_addf(&last, " P%d=1", i);
    }
    tt__str_addf(&s,
                 "//@ runtime THREADS 32\n//@ where P0 = P1\n//@ where P2 + P3 <= 4\n//@ block THREADS\n"
                 "//@ grid ceil_div(n, THREADS)\n//@ args x, i64 n, i32 P4\n//@ default%s THREADS=32\n"
                 "//@ reference right\n//@ block 32\n//@ grid ceil_div(n, 32)\n//@ args x, i64 n, i32 1\n",
                 last.text);
    for (int i = 0; i < 2; i++)
        tt__str_addf(&s,
                     "extern \"C\" __global__ void %s(float *x, long long n, int) {\n"
                     "    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
                     "    if (i < n)\n        x[i] += 1;\n}\n",
                     i ? "right" : "large");
    write_in(folder, "large.cu", s.text);
    tt__str_free(&s);
    tt__str_free(&last);
    return 0;
}

static void expect(int code, bool in_err, const char *text, const char *line) {
    char whole[512];
    run_result r;
    snprintf(whole, sizeof whole, line, folder, folder);
    run_tune_faulty(&r, "", whole);
    assert_code(&r, code);
    assert_has(&r, in_err ? r.err : r.out, text);
    run_free(&r);
}

static void test_check_estimates(void **state) {
    (void)state;
    char line[512];
    run_result r;
    snprintf(line, sizeof line, "check %s/large.cu", folder);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    assert_has(&r, r.out, "3486784401 combinations of values,\nabout ");
    assert_has(&r, r.out, "of which a search begins with a sample of 819");
    run_free(&r);
    expect(0, false, "\"estimated\":1", "check %s/large.cu --json");
}

/* The second run knows all trials of the first one, those of the sample and those of neighbours. */
static void test_tunes_and_continues(void **state) {
    (void)state;
    expect(0, false, " of 774840978 configurations tried, 0 failed",
           "--kernel %s/large.cu --max-trials 40 --db %s/large.db");
    expect(0, false, "  stored", "--kernel %s/large.cu --max-trials 40 --db %s/large.db");
    expect(0, false, "50 of 774840978 configurations",
           "--kernel %s/large.cu --max-trials 50 --db %s/large.db");
}

static void test_exhaustive_is_refused(void **state) {
    (void)state;
    expect(2, true, "too many to try all: choose another effort", "--kernel %s/large.cu --effort exhaustive");
}

static void test_the_default_is_tried(void **state) {
    (void)state;
    expect(0, true, "the budget of 0.01 s ended the search after 1 of ",
           "--kernel %s/large.cu --budget 10ms");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check_estimates),
        cmocka_unit_test(test_tunes_and_continues),
        cmocka_unit_test(test_exhaustive_is_refused),
        cmocka_unit_test(test_the_default_is_tried),
    };
    if (!getenv("HOSTCUDA_DIR")) {
        print_message("HOSTCUDA_DIR is not set: skipped\n");
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests_name("cli_large", tests, enter, run_leave);
}
