/* tt_tune on a device, from an empty store: every configuration of every template passes verification on
 * shapes with edges, the winners are stored, and a second run measures nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "device.h"

static char db[] = "/tmp/tiletune-test-XXXXXX";

static int setup(void **state) {
    (void)state;
    return mkdtemp(db) ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", db);
    return system(command);
}

static tt_ctx *open_store(const char *name) {
    char path[128];
    tt_ctx *ctx;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    snprintf(path, sizeof path, "%s/%s.db", db, name);
    opts.db_path = path;
    OK(tt_open(&ctx, &opts));
    return ctx;
}

static tt_report *tune(tt_ctx *ctx, const tt_problem *problems, size_t n, const tt_tune_opts *opts) {
    tt_report *report;
    OK(tt_tune(&report, ctx, problems, n, opts));
    assert_int_equal(report->n_results, n);
    return report;
}

static void all_passed(const tt_report *report) {
    for (size_t i = 0; i < report->n_results; i++) {
        const tt_result *r = tt_report_result(report, i);
        if (r->failed)
            fprintf(stderr, "%lld x %lld of %d bytes: %zu of %zu failed\n", (long long)r->rows,
                    (long long)r->cols, r->elem_size, r->failed, r->trials);
        assert_int_equal(r->failed, 0);
        assert_true(r->trials > 0 && r->time_us > 0 && r->kernel[0]);
    }
}

/* Square, in batches, in place, rectangular, tiny, prime, no multiple of any tile, with leading dimensions.
 * The sweep of the templates is another test. So the CPU stand-in takes one template of the first one, and
 * some configurations of two others; with TT_LONG all of the first three. */
static void test_every_configuration_passes(void **state) {
    (void)state;
    tt_problem problems[] = {
        matrix_of(33, 35, 0, 0, 1),       matrix_of(67, 67, 0, 0, 4),     matrix_of(96, 96, 0, 0, 4),
        matrix_of(1000, 1000, 0, 0, 4),   matrix_of(1, 1, 0, 0, 4),       matrix_of(1, 300, 0, 0, 4),
        matrix_of(300, 1, 0, 0, 4),       matrix_of(1021, 127, 0, 0, 4),  matrix_of(129, 1031, 0, 0, 4),
        matrix_of(250, 260, 300, 270, 4), matrix_of(131, 200, 0, 0, 1),   matrix_of(131, 200, 0, 0, 2),
        matrix_of(131, 200, 0, 0, 8),     matrix_of(131, 200, 0, 0, 16),  matrix_of(4000, 3000, 0, 0, 4),
        matrix_of(100000, 33, 0, 0, 4),   matrix_of(4000, 3000, 0, 0, 4), matrix_of(33, 100000, 0, 0, 2),
        matrix_of(33, 35, 0, 0, 4),
    };
    problems[0].batch = problems[18].batch = 3;
    problems[1].in_place = problems[3].in_place = problems[16].in_place = problems[17].in_place = 1;
    size_t n = !device_is_host() ? sizeof problems / sizeof *problems : device_may_take_long() ? 3 : 1;
    tt_ctx *ctx = open_store("sweep");
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    static const char *const only[] = {"transpose_shifted", "transpose_few_rows", "transpose_few_cols"};
    opts.effort = TT_EFFORT_EXHAUSTIVE;
    opts.only = only;
    opts.n_only = device_may_take_long() ? 0 : 1;
    tt_report *report = tune(ctx, problems, n, &opts);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(tt_report_result(report, i)->trials, tt_report_result(report, i)->space);
    all_passed(report);
    tt_report_free(&report);
    if (opts.n_only) {
        opts.only++;
        opts.n_only = 2;
        opts.strategy = "random";
        opts.max_trials = 20;
        report = tune(ctx, problems, n, &opts);
        assert_true(tt_report_result(report, 0)->trials >= opts.max_trials);
        all_passed(report);
        tt_report_free(&report);
    }
    tt_close(&ctx);
}

/* Searches of which no more is asked than that they end with a winner are short on the CPU stand-in. */
static tt_tune_opts quick(void) {
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    opts.effort = TT_EFFORT_QUICK;
    opts.max_trials = device_is_host() ? 6 : 0;
    return opts;
}

static void test_second_run_measures_nothing(void **state) {
    (void)state;
    tt_ctx *ctx = open_store("twice");
    tt_problem p = matrix_of(129, 193, 0, 0, 4);
    const tt_tune_opts opts = quick();
    tt_report *first = tune(ctx, &p, 1, &opts), *second = tune(ctx, &p, 1, &opts);
    assert_int_equal(tt_report_result(first, 0)->source, TT_SOURCE_MEASURED);
    assert_int_equal(tt_report_result(second, 0)->source, TT_SOURCE_STORED);
    assert_string_equal(tt_report_result(first, 0)->config, tt_report_result(second, 0)->config);
    assert_true(tt_report_result(first, 0)->time_us == tt_report_result(second, 0)->time_us);
    assert_int_equal(tt_report_result(first, 0)->trials, tt_report_result(second, 0)->trials);

    /* The library now answers with the winner, and a plan runs it. */
    tt_choice best = TT_INIT(tt_choice);
    OK(tt_best(&best, ctx, &p));
    assert_int_equal(best.match, TT_MATCH_EXACT);
    assert_string_equal(best.config, tt_report_result(first, 0)->config);
    p.rows = 132;
    OK(tt_best(&best, ctx, &p));
    if (device_is_host()) { /* a GPU may have a rule that comes with tiletune */
        assert_int_equal(best.match, TT_MATCH_NEAREST);
        assert_non_null(strstr(best.why, "129x193"));
    }
    tt_report_free(&first);
    tt_report_free(&second);
    tt_close(&ctx);
}

static void test_force_measures_again(void **state) {
    (void)state;
    tt_ctx *ctx = open_store("force");
    tt_problem p = matrix_of(97, 97, 0, 0, 4);
    tt_tune_opts opts = quick();
    opts.force = 1;
    tt_report *first = tune(ctx, &p, 1, &opts), *second = tune(ctx, &p, 1, &opts);
    assert_int_equal(tt_report_result(second, 0)->source, TT_SOURCE_MEASURED);
    tt_report_free(&first);
    tt_report_free(&second);
    tt_close(&ctx);
}

static int stop_after(void *user) {
    int *left = user;
    return (*left)-- <= 0;
}

/* Stopped at any moment, the next run goes on and ends with a winner. */
static void test_goes_on_after_a_stop(void **state) {
    (void)state;
    tt_ctx *ctx = open_store("stop");
    tt_problem p = matrix_of(65, 129, 0, 0, 4);
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    int left = 20;
    tt_report *report;
    opts.should_stop = stop_after;
    opts.user = &left;
    assert_int_equal(tt_tune(&report, ctx, &p, 1, &opts), TT_E_INTERRUPTED);
    assert_non_null(report);
    tt_report_free(&report);
    opts = quick();
    report = tune(ctx, &p, 1, &opts);
    all_passed(report);
    tt_report_free(&report);
    tt_close(&ctx);
}

static void test_too_large(void **state) {
    (void)state;
    tt_ctx *ctx = open_store("large");
    tt_problem p = matrix_of(4000000, 1000000, 0, 0, 4);
    tt_report *report;
    assert_int_equal(tt_tune(&report, ctx, &p, 1, NULL), TT_E_INVALID);
    assert_non_null(strstr(tt_last_error(), "4000000x1000000"));
    assert_null(report);
    tt_close(&ctx);
}

static void test_no_such_device(void **state) {
    (void)state;
    tt_ctx *ctx = open_store("device");
    tt_problem p = matrix_of(64, 64, 0, 0, 4);
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    tt_report *report;
    opts.device = 99;
    assert_int_equal(tt_tune(&report, ctx, &p, 1, &opts), TT_E_NO_DEVICE);
    assert_non_null(strstr(tt_last_error(), "device 99"));
    tt_close(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_configuration_passes),
        cmocka_unit_test(test_second_run_measures_nothing),
        cmocka_unit_test(test_force_measures_again),
        cmocka_unit_test(test_goes_on_after_a_stop),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_no_such_device),
    };
    return device_open() ? cmocka_run_group_tests(tests, setup, teardown) : device_missing();
}
