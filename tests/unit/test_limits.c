/*
 * The meaning of efforts and budgets.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/status.h"
#include "tuner/run/tune.h"
#include "tuner/search/search.h"

static void test_efforts(void **state) {
    static const struct {
        tt_effort effort;
        size_t max_trials, trials, if_short, whole, of_copy;
    } cases[] = {
        {TT_EFFORT_STANDARD, 0, 128, 256, 192, 96},
        {TT_EFFORT_QUICK, 0, 48, 0, 0, 36},
        {TT_EFFORT_EXHAUSTIVE, 0, SIZE_MAX, 0, 0, SIZE_MAX},
        {TT_EFFORT_STANDARD, 7, 7, 0, 0, 6},
        {TT_EFFORT_EXHAUSTIVE, 1, 1, 0, 0, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt_tune_opts opts = TT_INIT(tt_tune_opts);
        opts.effort = cases[i].effort;
        opts.max_trials = cases[i].max_trials;
        assert_int_equal(tt__limits_check(&opts), TT_OK);
        tt__limits limits = tt__limits_of(&opts, INFINITY, 0.3), copy = tt__limits_of_copy(&limits);
        assert_int_equal(limits.trials, cases[i].trials);
        assert_int_equal(limits.trials_if_short, cases[i].if_short);
        assert_true(isinf(limits.finals_s) && isinf(limits.deadline_s));
        assert_int_equal(copy.trials, cases[i].of_copy);
        assert_int_equal(limits.whole, cases[i].whole);
        assert_int_equal(copy.trials_if_short, 0);
        assert_int_equal(copy.whole, 0);
        assert_int_equal(limits.patience, limits.whole > 0 ? 3 : 0);
        assert_int_equal(copy.patience, 0);
        assert_true(copy.finals_s == 0 && isinf(copy.deadline_s));
    }
}

/* Each problem gets its part of the rest, and the copy an eighth of that. */
static void test_budgets(void **state) {
    static const double long_s = 1e6, noise_s = 100; /* however busy the machine */
    (void)state;
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    double now = tt__now_s();
    for (size_t n = 1; n < 4; n++) {
        const double share = 1 / (double)n;
        tt__limits limits = tt__limits_of(&opts, now + long_s, share), copy = tt__limits_of_copy(&limits);
        double part = long_s * share;
        assert_true(fabs(limits.deadline_s - now - part) < noise_s);
        assert_true(fabs(limits.finals_s - part / 4) < noise_s);
        assert_true(fabs(copy.deadline_s - now - part / 8) < noise_s);
    }
}

static void test_time_limits(void **state) {
    static const struct {
        double budget_s, asked_s, limit_s;
    } cases[] = {{0, 0, 10}, {1000, 0, 10}, {20, 0, 5}, {2, 0, 1}, {20, 8, 8}, {0, 8, 8}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(tt__timeout_s(cases[i].budget_s, cases[i].asked_s, 10, 1, 0.25) == cases[i].limit_s);
}

/* One that hangs must not use up what several problems have. */
static void test_shares_of_a_budget(void **state) {
    static const double worth[] = {1, 6, 1};
    (void)state;
    tt__tune_call call = {.n = 1};
    assert_true(tt__most_of_budget_s(20, &call) == 20);
    call.n = 4;
    assert_true(tt__most_of_budget_s(20, &call) == 5);
    call = (tt__tune_call){.n = 3, .worth = worth};
    assert_true(tt__most_of_budget_s(20, &call) == 15);
    assert_true(tt__most_of_budget_s(0, &call) == 0);
}

static void test_refuses(void **state) {
    (void)state;
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    opts.effort = (tt_effort)3;
    assert_int_equal(tt__limits_check(&opts), TT_E_INVALID);
    assert_non_null(strstr(tt_last_error(), "effort is 3"));
    opts.effort = (tt_effort)-1;
    assert_int_equal(tt__limits_check(&opts), TT_E_INVALID);
    opts.effort = TT_EFFORT_QUICK;
    static const double budgets[] = {-1, NAN};
    for (size_t i = 0; i < 2; i++) {
        opts.budget_s = budgets[i];
        assert_int_equal(tt__limits_check(&opts), TT_E_INVALID);
        assert_non_null(strstr(tt_last_error(), "budget_s is "));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_efforts),     cmocka_unit_test(test_budgets),
        cmocka_unit_test(test_time_limits), cmocka_unit_test(test_shares_of_a_budget),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
