/* Searches with a budget, on a backend with invented times. The budget ends some trials, and keeps time for
 * others. */
#include <math.h>

#include "base/clock.h"
#include "kernel/space/space.h"
#include "race_fixture.h"
#include "tuner/finals/finals.h"
#include "tuner/search/with_copy.h"
#include "tuner/strategy/strategy.h"

/* A budget that turns out to be too short when all has been asked for has cut nothing. */
static void test_all_of_it_in_time(void **state) {
    (void)state;
    bench b;
    tt__search all;
    bench_open(&b, false);
    b.backend.us = 1e5;                      /* finals of that take a minute and more */
    b.s.strategy = &tt__strategy_exhaustive; /* names all of it at once */
    bench_search(&b, &(tt__limits){SIZE_MAX, tt__now_s() + 60, INFINITY, 0, 0, 0, 0}, &all);
    assert_int_equal(all.n_tried, SPACE);
    assert_false(all.cut);
    tt__search_close(&all);
    bench_close(&b);
}

/* Finals of slow kernels have few contenders, so they do not end a search at its first result. */
static void test_slow_kernels_in_time(void **state) {
    (void)state;
    bench b;
    tt__search all;
    bench_open(&b, false);
    b.backend.us = 25e3;
    bench_search(&b, &(tt__limits){SIZE_MAX, tt__now_s() + 20, 3, 0, 0, 0, 0}, &all);
    assert_int_equal(all.n_tried, SPACE);
    assert_false(all.cut);
    tt__search_close(&all);
    bench_close(&b);
}

/* The copy gets a small part of the time, and no finals. */
static void test_a_copy_in_little_time(void **state) {
    (void)state;
    bench b;
    tt__search copy;
    bench_open(&b, false);
    b.backend.us = 1e5; /* finals of that take a minute and more */
    tt__limits limits = tt__limits_of(&b.opts, tt__now_s() + 240, 1), of_copy = tt__limits_of_copy(&limits);
    bench_search(&b, &of_copy, &copy);
    assert_int_equal(copy.n_tried, SPACE);
    assert_false(copy.cut);
    tt__search_close(&copy);
    bench_close(&b);
}

/* The first result is awaited. When the finals should begin, what still compiles is left untried. */
static void test_what_compiles_for_too_long(void **state) {
    (void)state;
    enum { IN_TIME = 3 };
    bench b;
    tt__search some;
    bench_open_awaiting(&b, IN_TIME);
    b.s.strategy = &tt__strategy_exhaustive; /* names all of it at once */
    const double end_s = tt__now_s() + 0.1;
    bench_search(&b, &(tt__limits){SIZE_MAX, end_s, 0, 0, 0, 0, 0}, &some);
    assert_int_equal(some.n_tried, IN_TIME);
    assert_int_equal(some.n_measured, IN_TIME);
    assert_int_equal(some.n_skipped, 0);
    for (size_t i = 0; i < SPACE; i++)
        assert_true(some.known[i] == (some.trials[i].n_samples ? TT__TRIED : TT__UNTRIED));
    assert_true(some.cut);
    assert_true(b.backend.awaited_s[0] == INFINITY && b.backend.awaited_s[1] == end_s);
    assert_true(b.backend.end_s == INFINITY); /* for trials that the finals need */
    tt__search_close(&some);
    bench_close(&b);
}

/* A first result that comes late says little about the others. They are awaited until the finals begin. */
static void test_a_late_first_result(void **state) {
    (void)state;
    bench b;
    tt__search some;
    bench_open_awaiting(&b, 2);
    b.backend.first_late_s = 0.35;
    b.s.strategy = &tt__strategy_surrogate; /* names some later */
    const double end_s = tt__now_s() + 1.2;
    bench_search(&b, &(tt__limits){SIZE_MAX, end_s, 0.36, 0, 0, 0, 0}, &some);
    assert_int_equal(some.n_tried, 2);
    assert_true(some.cut && b.backend.awaited_s[1] >= end_s - 0.37);
    tt__search_close(&some);
    bench_close(&b);
}

/* With a budget, launches of 1 ms and more have the last stage alone, with fewer rounds. */
static void test_finals_of_long_kernels(void **state) {
    (void)state;
    for (int is_long = 0; is_long < 2; is_long++) {
        race r;
        race_open(&r, false);
        for (size_t i = 0; i < SPACE; i++)
            r.all.trials[i].time_us = is_long ? 1000 : 999;
        r.all.limits.deadline_s = r.b.s.end_s = tt__now_s() + 600;
        r.all.limits.finals_s = 150;
        double expected_s;
        assert_int_equal(tt__schedule_contenders(&r.all, &expected_s), is_long ? 6 : SPACE);
        race_run(&r);
        if (is_long)
            EXPECT_STAGES(&r, 6);
        else
            EXPECT_STAGES(&r, SPACE, 11, 6);
        assert_int_equal(r.b.backend.rounds[r.b.backend.n_stages - 1].least, is_long ? 11 : 31);
        race_close(&r);
    }
}

/* If fewer rounds end before the deadline, they are fewer. If hardly any do, the screening decides. */
static void test_finals_of_very_long_kernels(void **state) {
    (void)state;
    static const double us[] = {1e6, 2e6, 1e7};
    static const int least[] = {11, 6, 0}; /* of two, after one to warm up and one to plan */
    for (int i = 0; i < 3; i++) {
        race r;
        race_open(&r, false);
        for (size_t k = 0; k < SPACE; k++)
            r.all.trials[k].time_us = us[i] * (k == 0 ? 1 : k == 1 ? 0.99 : 2);
        r.all.limits.finals_s = 8; /* for one */
        r.all.limits.deadline_s = r.b.s.end_s = tt__now_s() + 34;
        r.all.best = 1;
        race_run(&r);
        assert_int_equal(r.b.backend.n_stages, least[i] > 0);
        if (least[i])
            assert_int_equal(r.b.backend.rounds[0].least, least[i]);
        else
            expect_elected(&r, 1);
        race_close(&r);
    }
}

/* Finals of slow kernels get their part of the budget, and no more. */
static void test_long_finals_leave_time_for_trials(void **state) {
    (void)state;
    bench b;
    tt__search all;
    bench_open(&b, false);
    b.backend.us = 2e6;
    bench_search(&b, &(tt__limits){SIZE_MAX, tt__now_s() + 20, 5, 0, 0, 0, 0}, &all);
    assert_int_equal(all.n_tried, SPACE);
    assert_false(all.cut);
    tt__search_close(&all);
    bench_close(&b);
}

/* A stored winner or the default may be tried beyond the budget. */
static void test_late_finals_of_short_kernels(void **state) {
    (void)state;
    race r;
    race_open(&r, false);
    for (size_t i = 0; i < SPACE; i++)
        r.all.trials[i].time_us = 999;
    r.all.limits.deadline_s = r.b.s.end_s = tt__now_s() - 1;
    r.all.limits.finals_s = 150;
    race_run(&r);
    EXPECT_STAGES(&r, SPACE);
    race_close(&r);
}

static void keep_message(void *user, const char *line) {
    snprintf(user, TT__REASON_MAX, "%s", line);
}

/* Then no energies are measured, either. */
static void test_says_that_no_finals_were_held(void **state) {
    (void)state;
    char said[TT__REASON_MAX] = "";
    race r;
    race_open(&r, false);
    r.b.call.objective = TT__OBJECTIVE_ENERGY;
    r.b.opts.on_message = keep_message;
    r.b.opts.user = said;
    for (size_t i = 0; i < SPACE; i++)
        r.all.trials[i].time_us = 1e7;
    r.all.limits.finals_s = 8;
    r.all.limits.deadline_s = r.b.s.end_s = tt__now_s() + 34;
    race_run(&r);
    assert_int_equal(r.b.backend.n_stages, 0);
    assert_string_equal(said, "the fastest wins, as energies are unknown: no finals were held");
    race_close(&r);
}

/* Trains of five leaders and the flush take 120 s, and more beside them. */
static void test_energies_within_the_budget(void **state) {
    (void)state;
    for (int fits = 0; fits < 4; fits++) { /* 2: in time that was kept for them; 3: they are not counted */
        char said[TT__REASON_MAX] = "";
        race r;
        race_open(&r, false);
        r.b.backend.base.counts_energy = fits < 3;
        r.b.call.objective = TT__OBJECTIVE_ENERGY;
        r.b.opts.on_message = keep_message;
        r.b.opts.user = said;
        r.all.limits.deadline_s = r.b.s.end_s = tt__now_s() + (fits == 1 ? 160 : 140.49);
        r.all.limits.energy_s = fits == 2 ? 20 : 0;
        r.all.limits.finals_s = 150;
        race_run(&r);
        assert_true(r.b.backend.n_stages > 0);
        assert_int_equal(r.b.backend.n_energies, fits % 3 ? 5 : 0);
        if (fits == 3)
            assert_non_null(strstr(said, "are unknown: NVML does not count this GPU's energy"));
        if (!fits)
            assert_string_equal(said, "the fastest wins, as energies are unknown: they take up to 150 s to "
                                      "measure, and the budget leaves 140 s: allow more");
        race_close(&r);
    }
}

/* A long budget keeps time for energies after the search, where they can be measured. */
static void test_time_is_kept_for_energies(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        bench b;
        tt__with_copy both;
        bench_open(&b, false);
        b.backend.base.counts_energy = !i;
        b.call.objective = TT__OBJECTIVE_ENERGY;
        b.s.end_s = tt__now_s() + 1000;
        (void)tt__with_copy_plan(&b.s, &b.f.problem, 1, &both); /* no template copies here: it ends there */
        const tt__limits *limits = &both.search.limits;
        assert_true(i ? limits->energy_s == 0 : limits->energy_s > 100);
        assert_true(fabs(limits->deadline_s + limits->energy_s - b.s.end_s) < 1);
        tt__with_copy_close(&both);
        bench_close(&b);
    }
}

/* A budget leaves no time for the additional measurements of short problems. If no time is left, the first
 * stage decides. */
static void test_the_budget_is_over(void **state) {
    (void)state;
    race r;
    race_open(&r, true);
    race_run(&r);
    double worth_s = r.b.backend.rounds[2].worth_s; /* of the first that is no heat */
    r.b.s.end_s = tt__now_s() - 1;
    race_run(&r);
    EXPECT_STAGES(&r, 26);
    expect_elected(&r, 5);
    assert_int_equal(r.b.backend.rounds[0].loads, 1);
    assert_true(worth_s > 3.9 * r.b.backend.rounds[0].worth_s);
    race_close(&r);
}

/* A budget keeps time for the launches of the finals: more for more contenders, and for slower ones. It
 * spends none on a default that is far behind. */
static void test_a_budget_for_slow_kernels(void **state) {
    (void)state;
    race r;
    race_open(&r, false);
    double all_s, one_s, six_s, few_s; /* at first all are alike */
    assert_int_equal(tt__schedule_contenders(&r.all, &all_s), SPACE);
    assert_true(all_s < 1);
    for (size_t i = 0; i < SPACE; i++)
        r.all.trials[i].time_us = i == 0 ? 1e4 : 2e4;
    assert_int_equal(tt__schedule_contenders(&r.all, &one_s), 1);
    for (size_t i = 1; i < 6; i++)
        r.all.trials[i].time_us = 1e4;
    assert_int_equal(tt__schedule_contenders(&r.all, &six_s), 6);
    assert_true(one_s > 31 * 0.01 && six_s > one_s + 31 * 5 * 0.01);
    r.all.limits.finals_s = (one_s + six_s) / 2;
    size_t few = tt__schedule_contenders(&r.all, &few_s);
    assert_true(few > 1 && few < 6 && few_s > one_s && few_s <= r.all.limits.finals_s);
    r.all.limits.finals_s = 0; /* one is measured in any case */
    assert_int_equal(tt__schedule_contenders(&r.all, &few_s), 1);
    assert_true(few_s == one_s);
    r.all.limits.finals_s = six_s;
    r.all.trials[0].time_us *= 1.26; /* the default */
    r.all.best = 1;
    r.b.s.end_s = tt__now_s() + 600;
    race_run(&r);
    EXPECT_STAGES(&r, 5);
    assert_true(r.result.speedup_vs_default > 1000); /* 12.6 ms by screening, and 10 us in the finals */
    r.b.s.end_s = INFINITY;
    race_run(&r);
    EXPECT_STAGES(&r, 5 + 1);
    race_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_of_it_in_time),
        cmocka_unit_test(test_slow_kernels_in_time),
        cmocka_unit_test(test_a_copy_in_little_time),
        cmocka_unit_test(test_what_compiles_for_too_long),
        cmocka_unit_test(test_a_late_first_result),
        cmocka_unit_test(test_finals_of_long_kernels),
        cmocka_unit_test(test_finals_of_very_long_kernels),
        cmocka_unit_test(test_long_finals_leave_time_for_trials),
        cmocka_unit_test(test_late_finals_of_short_kernels),
        cmocka_unit_test(test_says_that_no_finals_were_held),
        cmocka_unit_test(test_energies_within_the_budget),
        cmocka_unit_test(test_time_is_kept_for_energies),
        cmocka_unit_test(test_the_budget_is_over),
        cmocka_unit_test(test_a_budget_for_slow_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
