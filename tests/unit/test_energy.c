/* The arithmetic of energies, on trains of a GPU that is simulated here. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/measure/energy.h"

enum { N = 3, TRAINS = N * TT__ENERGY_TURNS };

/* Idle 70 W. A flush takes 5 mJ and 20 us; the launches take 10 and 12 mJ, and 50 and 40 us. */
static const double idle_watts = 70, joules[N] = {5e-3, 10e-3, 12e-3}, seconds[N] = {20e-6, 50e-6, 40e-6};
static const tt__idle idle = {70, 0};

/* `drift`: how much more a launch takes after 60 s. `noise`: of each train, relative. */
static void simulate(tt__train trains[TRAINS], double drift, double noise) {
    uint32_t state = 1;
    for (int k = 0; k < TRAINS; k++) {
        tt__train *t = &trains[k];
        int i = tt__energy_thing(k, N);
        double launch_s = seconds[0] + (i ? seconds[i] : 0);
        state = state * 1664525u + 1013904223u;
        double chance = 1 + noise * ((state >> 8) / 8388608.0 - 1);
        *t = (tt__train){.thing = i, .seconds = 5, .launches = 5 / launch_s, .middle_s = 2.5 + 5 * k};
        double of_launch = (joules[0] + (i ? joules[i] : 0)) * (1 + drift * t->middle_s / 60) * chance;
        t->joules = of_launch * t->launches + idle_watts * t->seconds;
    }
}

static void test_order(void **state) {
    (void)state;
    static const int abba[] = {0, 1, 1, 0, 0, 1, 1, 0}, three[] = {0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0};
    for (int k = 0; k < 8; k++)
        assert_int_equal(tt__energy_thing(k, 2), abba[k]);
    for (int k = 0; k < TRAINS; k++)
        assert_int_equal(tt__energy_thing(k, N), three[k]);
}

static void test_subtracts_idle_and_flush(void **state) {
    (void)state;
    tt__train trains[TRAINS];
    tt__energy e[N];
    simulate(trains, 0, 0);
    tt__energy_fit(e, trains, N, true, &idle);
    for (int i = 0; i < N; i++)
        assert_true(fabs(e[i].joules / joules[i] - 1) < 1e-9 && e[i].noise < 1e-9);
    tt__energy_fit(e, trains, N, false, &idle);
    assert_true(fabs(e[1].joules / 15e-3 - 1) < 1e-9);
}

/* A drift of 20 % over the whole leaves the ratio alone, and is no noise. In the order AAAABBBB it would be
 * 10 %. */
static void test_order_cancels_a_drift(void **state) {
    (void)state;
    tt__train trains[TRAINS];
    tt__energy e[N];
    double ratio;
    simulate(trains, 0.2, 0);
    tt__energy_fit(e, trains, N, true, &idle);
    assert_int_equal(tt__energy_compare(&e[1], &e[2], false, &ratio), TT__ENERGY_LESS);
    assert_true(fabs(ratio / (joules[1] / joules[2]) - 1) < 1e-6);
    assert_true(e[1].noise < 1e-3 * e[1].joules);
}

static void test_says_when_noise_wins(void **state) {
    (void)state;
    tt__train trains[TRAINS];
    tt__energy e[N];
    double ratio;
    simulate(trains, 0, 0.01);
    tt__energy_fit(e, trains, N, true, &idle);
    assert_true(tt__energy_known(&e[1]) && e[1].noise > 1e-3 * e[1].joules);
    assert_true(fabs(e[1].joules - joules[1]) < e[1].noise);
    assert_int_equal(tt__energy_compare(&e[2], &e[1], false, &ratio), TT__ENERGY_MORE);
    simulate(trains, 0, 0.15); /* they are 20 % apart */
    tt__energy_fit(e, trains, N, true, &idle);
    assert_int_equal(tt__energy_compare(&e[2], &e[1], false, &ratio), TT__ENERGY_UNKNOWN);
    simulate(trains, 0, 0); /* idle power is not known either: 30 W of 200 */
    tt__energy_fit(e, trains, N, true, &(tt__idle){70, 30});
    assert_false(tt__energy_known(&e[1]));
}

/* 12 mJ and 40 us against 10 mJ and 50 us: less energy, but not less energy times time. */
static void test_edp(void **state) {
    (void)state;
    tt__energy a = {.joules = 12e-3, .time_us = 40, .noise = 1e-5}, b = {10e-3, 1e-5, .time_us = 50};
    double ratio;
    assert_int_equal(tt__energy_compare(&a, &b, false, &ratio), TT__ENERGY_MORE);
    assert_int_equal(tt__energy_compare(&a, &b, true, &ratio), TT__ENERGY_LESS);
    assert_true(fabs(ratio - 0.96) < 1e-9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_subtracts_idle_and_flush),
        cmocka_unit_test(test_order_cancels_a_drift),
        cmocka_unit_test(test_says_when_noise_wins),
        cmocka_unit_test(test_edp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
