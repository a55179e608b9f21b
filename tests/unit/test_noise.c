/* Medians and paired ratios, against values worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/model.h"
#include "tuner/measure/noise.h"

static void test_median(void **state) {
    (void)state;
    const float odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2}, one[] = {7};
    assert_true(tt__median(odd, 3) == 3);
    assert_true(tt__median(even, 4) == 2.5);
    assert_true(tt__median(one, 1) == 7);
    assert_true(odd[0] == 5); /* the order is left alone: finals pair up by it */
}

/* A drift that moves both sides alike leaves the ratio alone. */
static void test_ratio_ignores_drift(void **state) {
    (void)state;
    float a[31], b[31];
    for (int i = 0; i < 31; i++) {
        b[i] = 100 + (float)i * 10;
        a[i] = b[i] * 1.01f;
    }
    tt__ratio r = tt__paired_ratio(a, b, 31);
    assert_true(r.median > 1.0099 && r.median < 1.0101);
    assert_true(r.low > 1.0 && r.high < 1.02);
}

/* One hiccup in a round of one side decides nothing. */
static void test_ratio_ignores_an_outlier(void **state) {
    (void)state;
    float a[31], b[31];
    for (int i = 0; i < 31; i++)
        a[i] = b[i] = 100;
    a[7] = 100000;
    tt__ratio r = tt__paired_ratio(a, b, 31);
    assert_true(r.median == 1 && r.low == 1 && r.high == 1);
}

/* Noise without a difference keeps 1 inside the interval; few samples have a wide one. */
static void test_ratio_interval(void **state) {
    (void)state;
    const float up[] = {101, 99, 102, 98, 100.5f, 99.5f, 101, 99, 100.2f, 99.8f},
                flat[10] = {100, 100, 100, 100, 100, 100, 100, 100, 100, 100};
    tt__ratio r = tt__paired_ratio(up, flat, 10);
    assert_true(r.low < 1 && r.high > 1);
    tt__ratio two = tt__paired_ratio(up, flat, 2);
    assert_true(two.low <= 0.9901 && two.high >= 1.0099);
}

/* Half the range of a few samples; of many, one hiccup is left out. */
static void test_relative_spread(void **state) {
    (void)state;
    const float few[] = {99, 100, 101};
    float many[31];
    for (int i = 0; i < 31; i++)
        many[i] = 100;
    many[3] = 100000;
    assert_true(tt__relative_spread(few, 3) == 0.01);
    assert_true(tt__relative_spread(few, 1) == 0);
    assert_true(tt__relative_spread(many, 31) == 0);
}

static void test_midmean(void **state) {
    (void)state;
    const float one[] = {7}, few[] = {3, 1, 2}, ticks[] = {5, 6, 5, 6, 6, 100, 5, 0};
    assert_true(tt__midmean(one, 1) == 7);
    assert_true(tt__midmean(few, 3) == 2);
    assert_true(tt__midmean(ticks, 8) == 5.5);
}

static void test_lower_mean(void **state) {
    (void)state;
    const float one[] = {7}, few[] = {3, 1, 2}, modes[] = {38, 36, 37, 36, 40, 35, 36, 38};
    assert_true(tt__lower_mean(one, 1) == 7);
    assert_true(tt__lower_mean(few, 3) == 2);
    assert_true(fabs(tt__lower_mean(modes, 8) - 218 / 6.0) < 1e-12);
}

/* Rather many samples than samples of many launches. */
static void test_deal_rounds(void **state) {
    (void)state;
    static const struct {
        tt__rounds r;
        double worth;
        int rounds, laps;
    } cases[] = {
        {{9, 21, 0, 1, false, false}, 0.2, 9, 1},
        {{9, 21, 0, 1, false, false}, 15.9, 15, 1},
        {{9, 21, 0, 1, false, false}, 31.4, 21, 1},
        {{9, 21, 0, 1, false, false}, 31.6, 15, 2},
        {{22, 30, 0, 1, false, false}, 44, 30, 1},
        {{22, 30, 0, 1, false, false}, 45, 22, 2},
        {{22, 30, 0, 1, false, false}, 66, 30, 2},
        {{31, 127, 0, 1, false, false}, 200, 100, 2},
        {{7, 7, 0, 1, false, false}, 14, 7, 2},
        {{1, 1, 0, 1, false, false}, 0, 1, 1},
        {{8, 8, 0, 1, false, false}, 15.9, 8, 1},
        {{5, 20, 0, 1, false, false}, 1e9, 20, TT__LAPS_MAX},
        {{5, 20, 0, 1, false, false}, INFINITY, 20, TT__LAPS_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int laps;
        assert_int_equal(tt__deal_rounds(&cases[i].r, cases[i].worth, &laps), cases[i].rounds);
        assert_int_equal(laps, cases[i].laps);
    }
}

static void test_most_samples(void **state) {
    (void)state;
    float many[TT__SAMPLES_MAX];
    for (int i = 0; i < TT__SAMPLES_MAX; i++)
        many[i] = (float)(i + 1);
    assert_true(tt__median(many, TT__SAMPLES_MAX) == (TT__SAMPLES_MAX + 1) / 2.0);
    assert_true(tt__paired_ratio(many, many, TT__SAMPLES_MAX).median == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_median),
        cmocka_unit_test(test_midmean),
        cmocka_unit_test(test_lower_mean),
        cmocka_unit_test(test_deal_rounds),
        cmocka_unit_test(test_ratio_ignores_drift),
        cmocka_unit_test(test_ratio_ignores_an_outlier),
        cmocka_unit_test(test_ratio_interval),
        cmocka_unit_test(test_relative_spread),
        cmocka_unit_test(test_most_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
