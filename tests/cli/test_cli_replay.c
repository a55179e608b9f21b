/* `tune` on the recording $TT_RECORDING (of $TT_RECORDING_SIZE squared, default 4096), if there is one: what
 * it prints, what it searches, the bar. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "run.h"
#include "tuner/cli/shell/table.h"

static const char *folder;

static int enter(void **state) {
    (void)state;
    folder = run_enter_without_gpu();
    return 0;
}

/* The arguments of a replay, or a skipped test. */
static const char *replay(char *out, size_t size, const char *more) {
    const char *recording = getenv("TT_RECORDING"), *n = getenv("TT_RECORDING_SIZE");
    if (!recording || !*recording)
        skip();
    snprintf(out, size, "--device replay:%s --sizes %s %s", recording, n ? n : "4096", more);
    return out;
}

static void test_replay_table(void **state) {
    (void)state;
    char line[512];
    run_result r;
    run_tune(&r, NULL, replay(line, sizeof line, ""));
    assert_code(&r, 0);
    assert_has(&r, r.out, "configuration");
    assert_has(&r, r.out, "GB/s");
    assert_has(&r, r.out, "replayed");
    assert_has(&r, r.out, "nothing was stored");
    assert_has(&r, r.err, "replay ");
    assert_null(strstr(r.out, "measured"));
    assert_null(strchr(r.err, '\r')); /* no bar where there is no terminal */
    run_free(&r);
    char store[128];
    snprintf(store, sizeof store, "%s/tiletune", folder);
    assert_int_not_equal(access(store, F_OK), 0);
}

static void test_replay_json(void **state) {
    (void)state;
    static const char *const keys[] = {
        "gpu",    "results", "op",   "rows",          "cols",          "elem_size",          "kernel",
        "config", "time_us", "gbps", "copy_fraction", "peak_fraction", "speedup_vs_default", "trials",
        "source", "wall_s"};
    char line[512], first[256], second[256], key[64];
    run_result r;
    run_tune(&r, NULL, replay(line, sizeof line, "--json --quiet"));
    assert_code(&r, 0);
    assert_string_equal(r.err, "");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        snprintf(key, sizeof key, "\"%s\":", keys[i]);
        assert_has(&r, r.out, key);
    }
    assert_has(&r, r.out, "\"source\":\"replayed\"");
    run_json(first, sizeof first, r.out, "config");
    run_free(&r);
    run_tune(&r, NULL, line);
    assert_code(&r, 0);
    assert_string_equal(run_json(second, sizeof second, r.out, "config"), first);
    run_free(&r);
    run_tune(&r, NULL,
             replay(line, sizeof line, "--json --quiet --only transpose_wide")); /* of 16 bytes alone */
    assert_code(&r, 1);
    assert_has(&r, r.out, "\"kernel\":null");
    assert_has(&r, r.out, "\"source\":\"replayed\"");
    run_free(&r);
}

/* The winner, in `out`, of a replay with these options beside the sizes. */
static const char *replayed(char *out, size_t size, const char *recording, const char *sizes,
                            const char *options, int *trials) {
    char line[512], number[32];
    run_result r;
    if (!recording || !*recording)
        skip();
    snprintf(line, sizeof line, "--device replay:%s --sizes %s --json %s", recording, sizes, options);
    run_tune(&r, NULL, line);
    assert_code(&r, 0);
    const char *of = strstr(r.out, "\"rows\":4096");
    assert_non_null(of);
    run_json(out, size, of, "config");
    if (trials)
        *trials = atoi(run_json(number, sizeof number, of, "trials"));
    run_free(&r);
    return out;
}

/* A problem's search does not depend on the other problems of the run. Standard effort finds what exhaustive
 * does, and ends when it gains nothing more. */
static void test_effort(void **state) {
    (void)state;
    char alone[256], other[256];
    const char *whole = getenv("TT_WHOLE_RECORDING");
    int trials, all;
    replayed(alone, sizeof alone, whole, "4096", "", &trials);
    assert_string_equal(replayed(other, sizeof other, whole, "4096,1024,8192", "", NULL), alone);
    assert_string_equal(replayed(other, sizeof other, whole, "8192,1024,4096", "", NULL), alone);
    assert_string_equal(replayed(other, sizeof other, whole, "4096", "--effort standard --seed 0", NULL),
                        alone);
    assert_string_equal(replayed(other, sizeof other, whole, "4096", "--effort exhaustive", &all), alone);
    assert_in_range(trials, 64, 127);
    assert_true(trials < all);
    replayed(other, sizeof other, whole, "4096", "--effort quick", &all);
    assert_true(all < trials);
}

static void test_max_trials(void **state) {
    (void)state;
    static const char *const strategies[] = {"surrogate", "model", "random", "exhaustive"};
    char got[256], again[256], options[64];
    int trials;
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        snprintf(options, sizeof options, "--max-trials 20 --seed 5 --strategy %s", strategies[i]);
        replayed(got, sizeof got, getenv("TT_RECORDING"), "4096", options, &trials);
        assert_in_range(trials, 20, 21); /* and the default of the template that leads */
        assert_string_equal(replayed(again, sizeof again, getenv("TT_RECORDING"), "4096", options, NULL),
                            got);
    }
}

static void test_replay_of_an_unknown_size(void **state) {
    (void)state;
    char line[512];
    run_result r;
    static const char *const unknown[][2] = {
        {"--shapes 12345x54321", "no transpose of 12345x54321; it has: 1024x1024; 2048x2048"},
        {"--warm", "no transpose of 4096x4096, warm; it has"},
        {"--in-place", "no transpose_in_place of "},
    };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        run_tune(&r, NULL, replay(line, sizeof line, unknown[i][0]));
        assert_code(&r, 2);
        assert_has(&r, r.err, unknown[i][1]);
        run_free(&r);
    }
}

/* On a terminal: a bar that fits, redraws itself, and is gone in the end. */
static void test_bar(void **state) {
    static const int widths[] = {20, 40, 80, 200};
    (void)state;
    char line[512];
    setenv("LC_ALL", "C.UTF-8", 1);
    replay(line, sizeof line, "--json --max-trials 40");
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        run_result r;
        run_tune(&r, &(run_spec){.columns = widths[i]}, line);
        assert_code(&r, 0);
        assert_has(&r, r.err, "\r");
        size_t n = strlen(r.err);
        assert_true(n >= 4 && strcmp(r.err + n - 4, "\r\033[K") == 0);
        for (const char *drawn = r.err; *drawn;
             drawn += strcspn(drawn, "\r\n") + (drawn[strcspn(drawn, "\r\n")] != 0))
            if (strstr(drawn, "\033[K") && strncmp(drawn, "tune: ", 6) != 0)
                assert_true(tt__spark_columns(drawn, strcspn(drawn, "\033\r\n")) < (size_t)widths[i]);
        bool curve = strstr(r.err, "▁") != NULL; /* the best so far */
        assert_true(widths[i] == 20 ? !curve : widths[i] < 200 || curve);
        run_free(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_replay_table, enter, run_leave),
        cmocka_unit_test_setup_teardown(test_replay_json, enter, run_leave),
        cmocka_unit_test_setup_teardown(test_effort, enter, run_leave),
        cmocka_unit_test_setup_teardown(test_max_trials, enter, run_leave),
        cmocka_unit_test_setup_teardown(test_replay_of_an_unknown_size, enter, run_leave),
        cmocka_unit_test_setup_teardown(test_bar, enter, run_leave),
    };
    return cmocka_run_group_tests_name("cli_replay", tests, NULL, NULL);
}
