/*
 * Finals and elections on a backend with invented times: the entrants, the winner, and the effect of missing
 * samples and short budgets.
 */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/random.h"
#include "race_fixture.h"
#include "tuner/elect.h"
#include "tuner/finals.h"

static tt__winner stored_winner(const race *r) {
    tt__winner w;
    bool found;
    assert_ok(tt__store_winner_get(r->b.s.store, r->b.s.gpu_id, r->all.problem_id, &w, &found));
    assert_true(found);
    return w;
}

static tt_status count(void *user, const tt__trial_row *row) {
    assert_int_equal(row->trial->status, TT__TRIAL_OK);
    ++*(size_t *)user;
    return TT_OK;
}

static void expect_stored_finals(const race *r, size_t expected) {
    size_t n = 0;
    assert_ok(tt__store_trials(r->b.s.store, r->b.s.gpu_id, &r->b.s.env, r->all.problem_id, TT__STAGE_FINAL,
                               count, &n));
    assert_int_equal(n, expected);
}

/* Where medians are the same tick of the clock, the mean of the lower three quarters elects. */
static void test_elects_between_ticks(void **state) {
    (void)state;
    race r;
    race_open(&r, false);
    race_run(&r);
    expect_elected(&r, 5);
    EXPECT_STAGES(&r, SPACE, 11, 6, 6);
    expect_stored_finals(&r, SPACE);
    race_close(&r);
}

/* The slowest quarter counts for nothing, the fastest for as much as the rest. */
static void test_judges_by_the_lower_three_quarters(void **state) {
    (void)state;
    static tt__finals f;
    f.trials[1] = (tt__trial){.time_us = 12, .n_samples = 8, .samples_us = {12, 10, 9, 12, 50, 12, 14, 11}};
    assert_true(tt__finals_middle_us(&f, 1) == 11);
    f.trials[1].n_samples = 0;
    assert_true(tt__finals_middle_us(&f, 1) == 12);
}

/* Those that no user could tell apart are less than 0.1 % apart. */
static void test_who_are_equals(void **state) {
    (void)state;
    static const struct {
        float tick_us;
        size_t elected;
    } cases[] = {{0.009f, 0}, {0.018f, 5}}; /* 0.08 and 0.15 % of 10 us */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        race r;
        race_open(&r, false);
        r.b.backend.tick_us = cases[i].tick_us;
        race_run(&r);
        expect_elected(&r, cases[i].elected);
        race_close(&r);
    }
}

/* Of indistinguishable entrants, the first in the space wins. */
static void test_elects_the_first_of_equals(void **state) {
    (void)state;
    race r;
    race_open(&r, false);
    r.b.backend.tick_us = 0.01f;
    race_run(&r);
    expect_elected(&r, 0);
    race_close(&r);
    race_open(&r, false);
    r.b.backend.tick_us = 0.01f;
    r.b.backend.n_ticks = 7; /* by little, but always */
    race_run(&r);
    expect_elected(&r, 5);
    race_close(&r);
}

/* Slow entrants are eliminated early, and a stage is left out if few remain. The best copies are always
 * measured. */
static void test_leaves_stages_out(void **state) {
    (void)state;
    race r;
    race_open(&r, false);
    bench_search(&r.b, &tt__no_limits, &r.copy);
    r.b.backend.step_us = 0.15;
    r.b.backend.tick_us = 0;
    race_run(&r);
    expect_elected(&r, 0);
    EXPECT_STAGES(&r, SPACE + 3, 2 + 2);
    assert_true(fabs(r.result.copy_us - 10.3) < 1e-6); /* the third of the last stage */
    assert_true(fabs(r.result.copy_fraction - 1.03) < 1e-6);
    race_close(&r);
    race_open(&r, false);
    tt__search_close(&r.all);
    r.b.opts.force = true;
    r.b.backend.n_unrecorded = SPACE - 11;
    bench_search(&r.b, &tt__no_limits, &r.all);
    race_run(&r);
    EXPECT_STAGES(&r, 11, 6, 6);
    assert_int_equal(r.result.trials, 11);
    assert_int_equal(stored_winner(&r).trials, 11);
    race_close(&r);
}

/* Entrants that do not fit into one measurement run in equal heats. */
static void test_heats(void **state) {
    (void)state;
    race r;
    race_open(&r, true);
    r.b.backend.fastest = &r.all.space.items[25]; /* in the second heat */
    race_run(&r);
    EXPECT_STAGES(&r, 20, 20, 26, 11, 6, 6);
    expect_elected(&r, 25);
    race_close(&r);
}

/* From 100 us on there are none, and kernels are loaded once. */
static void test_heats_of_brief_problems(void **state) {
    (void)state;
    static const int loads[] = {2, 2, 7, 15, 31};
    for (int is_brief = 0; is_brief < 2; is_brief++) {
        race r;
        race_open(&r, true);
        tt__search_close(&r.all);
        r.b.opts.force = true;
        r.b.backend.us = is_brief ? 99.99 : 100;
        bench_search(&r.b, &tt__no_limits, &r.all);
        race_run(&r);
        if (is_brief)
            EXPECT_STAGES(&r, 20, 20, 26, 11, 6);
        else
            EXPECT_STAGES(&r, 26, 11, 6);
        for (size_t i = 0; i < r.b.backend.n_stages; i++)
            assert_int_equal(r.b.backend.rounds[i].loads, is_brief ? loads[i] : 1);
        race_close(&r);
    }
}

/* With exhaustive effort all entrants are in the last stage, including the incumbent, and all are measured
 * longer. A budget leaves no time for that. */
static void test_all_stay(void **state) {
    (void)state;
    race r;
    race_open(&r, false);
    race_run(&r);
    double worth_s = r.b.backend.rounds[2].worth_s;
    r.b.opts.effort = TT_EFFORT_EXHAUSTIVE;
    race_run(&r);
    EXPECT_STAGES(&r, SPACE, SPACE);
    assert_true(fabs(r.b.backend.rounds[0].worth_s / worth_s - 2) < 1e-9);
    expect_elected(&r, 5);
    r.b.s.end_s = tt__now_s() + 60;
    race_run(&r);
    EXPECT_STAGES(&r, SPACE, 11, 6);
    race_close(&r);
    race_open(&r, true);
    r.b.opts.effort = TT_EFFORT_EXHAUSTIVE;
    r.b.backend.fastest = &r.all.space.items[25];
    race_run(&r);
    EXPECT_STAGES(&r, 20, 20, 26, 26);
    r.b.backend.fastest = &r.all.space.items[39]; /* in the second stage only because it is the incumbent */
    race_run(&r);
    EXPECT_STAGES(&r, 20, 20, 27, 27);
    race_close(&r);
}

/* Short is what takes less than 20 us. Its stages take longer, and if the last one did not decide, it is held
 * again, six times as long. */
static void test_what_is_short(void **state) {
    (void)state;
    static const double longer[] = {4, 6, 1};
    double worth_s[2][4];
    for (int is_short = 0; is_short < 2; is_short++) {
        race r;
        race_open(&r, false);
        tt__search_close(&r.all);
        r.b.opts.force = true;
        r.b.backend.us = is_short ? 19.99 : 20;
        bench_search(&r.b, &tt__no_limits, &r.all);
        race_run(&r);
        if (is_short)
            EXPECT_STAGES(&r, SPACE, 11, 6, 6);
        else
            EXPECT_STAGES(&r, SPACE, 11, 6);
        for (size_t i = 0; i < r.b.backend.n_stages; i++)
            worth_s[is_short][i] = r.b.backend.rounds[i].worth_s;
        race_close(&r);
    }
    for (size_t i = 0; i < 3; i++)
        assert_true(fabs(worth_s[1][i] / worth_s[0][i] - longer[i]) < 1e-9);
    assert_true(fabs(worth_s[1][3] / worth_s[1][2] - 6) < 1e-9);
}

/* The last stage decides if one contender is left, if one is faster than each other beyond the noise, or if
 * they are less than 0.1 % apart in all rounds that count. */
static void test_what_is_decided(void **state) {
    (void)state;
    static const struct {
        double step_us;
        float tick_us;
        int n_ticks;
        bool decided;
    } cases[] = {{0.3, 0, 0, true},     {0, 0.018f, 6, false},  {0, 0.018f, 7, true},
                 {0, 0.0049f, 6, true}, {0, 0.0051f, 6, false}, {0, 0, 0, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        race r;
        race_open(&r, false);
        r.b.backend.step_us = cases[i].step_us;
        r.b.backend.tick_us = cases[i].tick_us;
        r.b.backend.n_ticks = cases[i].n_ticks;
        race_run(&r);
        if (cases[i].step_us > 0)
            EXPECT_STAGES(&r, SPACE, 1);
        else if (cases[i].decided)
            EXPECT_STAGES(&r, SPACE, 11, 6);
        else
            EXPECT_STAGES(&r, SPACE, 11, 6, 6);
        race_close(&r);
    }
}

/* Only the last stage needs the default, which shows what tuning was worth; where it is a contender it is in
 * all. */
static void test_the_default_waits(void **state) {
    (void)state;
    race r;
    race_open(&r, false);
    tt__search_close(&r.all);
    r.b.backend.slow_default = true;
    r.b.opts.force = true;
    bench_search(&r.b, &tt__no_limits, &r.all);
    bench_search(&r.b, &tt__no_limits, &r.copy);
    race_run(&r);
    EXPECT_STAGES(&r, SPACE - 1 + 3, 11 + 2, 6 + 1 + 1, 6 + 1 + 1);
    assert_true(r.result.speedup_vs_default == 2);
    race_close(&r);
    race_open(&r, false);
    r.all.known[0] = TT__UNTRIED;
    race_run(&r);
    assert_int_equal(r.all.known[0], TT__TRIED);
    race_close(&r);
    race_open(&r, false);
    r.b.backend.slow_default = true; /* in the finals */
    race_run(&r);
    EXPECT_STAGES(&r, SPACE, 11 + 1, 6 + 1, 6 + 1);
    assert_true(r.result.speedup_vs_default == 2);
    race_close(&r);
}

/* A default that screening kept out wins if it is faster in every round, but not if that may be noise, or if
 * its rounds are others. */
static void test_no_winner_is_slower_than_the_default(void **state) {
    (void)state;
    static const struct {
        int n_ticks;
        bool earlier;
        size_t elected;
    } cases[] = {{7, false, 0}, {3, false, 1}, {7, true, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        race r;
        race_open(&r, false);
        tt__search_close(&r.all);
        r.b.backend.slow_default = true;
        r.b.opts.force = true;
        bench_search(&r.b, &tt__no_limits, &r.all);
        r.b.backend.slow_default = false;
        r.b.backend.n_ticks = cases[i].n_ticks;
        r.b.backend.fastest = &r.all.space.items[0];
        r.b.backend.earlier = cases[i].earlier ? &r.all.space.items[0] : NULL;
        race_run(&r);
        expect_elected(&r, cases[i].elected);
        if (cases[i].elected == 0)
            assert_true(r.result.speedup_vs_default == 1);
        race_close(&r);
    }
}

/* 200 made-up problems, where times vary and the screening wrongs the default. In every second one it is
 * faster than all others. No winner is slower by more than what 31 noisy rounds can tell. */
static void test_no_winner_is_slower_in_noise(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        race r;
        double us[SPACE];
        uint64_t dice = seed;
        int a, b;
        us[0] = 100;
        for (size_t i = 1; i < SPACE; i++)
            us[i] = 100 *
                    (seed % 2 ? 1.025 + 0.1 * tt__random_unit(&dice) : 0.95 + 0.15 * tt__random_unit(&dice));
        race_open(&r, false);
        tt__search_close(&r.all);
        r.b.opts.force = true;
        r.b.backend.true_us = us;
        r.b.backend.dice = seed;
        r.b.backend.n_samples = TT__FINAL_ROUNDS;
        bench_search(&r.b, &tt__no_limits, &r.all);
        race_run(&r);
        assert_int_equal(sscanf(r.result.config, "A=%d B=%d", &a, &b), 2);
        assert_true(us[2 * a + b] <= 1.015 * us[0]);
        race_close(&r);
    }
}

/* Entrants with only an earlier stage in the recording have fewer samples, and are not compared with the last
 * stage's. This holds for contenders and copies. */
static void test_samples_of_an_earlier_stage(void **state) {
    (void)state;
    for (int of_copy = 0; of_copy < 2; of_copy++) {
        race r;
        race_open(&r, false);
        bench_search(&r.b, &tt__no_limits, &r.copy);
        r.b.backend.earlier = of_copy ? &r.copy.space.items[1] : &r.all.space.items[7];
        race_run(&r);
        expect_elected(&r, 5);
        assert_true(r.result.copy_us == 10);
        race_close(&r);
    }
}

/* The incumbent is in all stages, however slow, and stays until the ratio is certain. */
static void test_the_incumbent(void **state) {
    (void)state;
    race r;
    race_open(&r, false);
    race_run(&r);
    expect_elected(&r, 5);
    r.b.backend.fastest = &r.all.space.items[15];
    race_run(&r);
    expect_elected(&r, 5); /* four of seven pairs are ties */
    EXPECT_STAGES(&r, SPACE, 11, 6 + 1, 6 + 1);
    r.b.backend.n_ticks = 6;
    race_run(&r);
    expect_elected(&r, 5); /* one is */
    r.b.backend.n_ticks = 7;
    race_run(&r);
    expect_elected(&r, 15);
    race_close(&r);
    race_open(&r, false);
    r.b.backend.fastest = &r.all.space.items[0];
    race_run(&r);
    expect_elected(&r, 0);
    r.b.backend.slow_default = true;
    r.b.backend.fastest = &r.all.space.items[15];
    race_run(&r);
    expect_elected(&r, 15);
    EXPECT_STAGES(&r, SPACE, 11 + 1, 6 + 1, 6 + 1);
    r.all.known[15] = TT__UNTRIED; /* another search did not come by it */
    r.b.backend.fastest = NULL;
    race_run(&r);
    assert_int_equal(r.all.known[15], TT__TRIED);
    race_close(&r);
}

/* If no entrant passes the last stage, the screening decides. */
static void test_a_stage_that_nobody_passes(void **state) {
    (void)state;
    race r;
    race_open(&r, false);
    r.b.backend.lost_at = 2;
    race_run(&r);
    EXPECT_STAGES(&r, SPACE, 11);
    expect_elected(&r, 0);
    assert_true(r.result.time_us == 10);
    expect_stored_finals(&r, SPACE - 11); /* the entrants of the first stage only */
    race_close(&r);
}

/* A failing stage ends the finals. Earlier stages count, and the election is among the rest. */
static void test_a_stage_that_fails(void **state) {
    (void)state;
    for (size_t fails_at = 1; fails_at <= 2; fails_at++) {
        race r;
        race_open(&r, false);
        r.b.backend.fails_at = fails_at;
        race_run(&r);
        assert_int_equal(r.b.backend.n_stages, fails_at);
        expect_elected(&r, fails_at == 1 ? 0 : 5);
        const char *after = strstr(r.b.message, ": the finals"); /* behind the problem */
        assert_non_null(after);
        assert_string_equal(
            after + 2,
            fails_at == 1 ? "the finals failed (this stage fails); the winner is the best of the screening"
                          : "the finals failed (this stage fails); the winner is the best of those that went "
                            "well");
        race_close(&r);
    }
}

/* An interrupted run elects no winner. */
static void test_a_stage_that_is_interrupted(void **state) {
    (void)state;
    race r;
    race_open(&r, false);
    r.b.backend.fails_at = 2;
    r.b.backend.fails_with = TT_E_INTERRUPTED;
    assert_int_equal(tt__elect(&r.b.s, &r.all, &r.copy, &r.result), TT_E_INTERRUPTED);
    assert_string_equal(r.result.config, "");
    assert_string_equal(r.b.message, "");
    race_close(&r);
}

/* Samples that are not as many are not of the same rounds. */
static void test_trials_that_do_not_pair(void **state) {
    (void)state;
    tt__trial a = {.time_us = 20, .n_samples = 3, .samples_us = {10, 10, 10}},
              b = {.time_us = 10, .n_samples = 2, .samples_us = {10, 10}};
    tt__ratio r = tt__compare_trials(&a, &b);
    assert_true(r.median == 2 && r.low == 2 && r.high == 2);
    b.n_samples = 3;
    b.samples_us[2] = 10;
    assert_true(tt__compare_trials(&a, &b).median == 1);
    a.n_samples = b.n_samples = 0;
    assert_true(tt__compare_trials(&a, &b).median == 2);
}

/* Without finals, and without samples even, the screening's medians decide. */
static void test_elects_without_samples(void **state) {
    (void)state;
    bench b;
    tt__search all, copy = {.best = TT__NOTHING};
    tt_result result = {0};
    bench_open(&b, false);
    b.backend.n_samples = 0;
    for (int known = 0; known < 2; known++) {
        b.backend.finals_known = known;
        bench_search(&b, &tt__no_limits, &all);
        assert_ok(tt__elect(&b.s, &all, &copy, &result));
        assert_string_equal(result.config, "A=0 B=0");
        assert_true(result.time_us == 10);
        assert_int_equal(b.backend.n_in[0], 1); /* the next takes a tenth longer */
        tt__search_close(&all);
    }
    bench_close(&b);
}

/* A winner that a replay stored says nothing to a run that measures. */
static void test_a_replayed_winner_does_not_hold(void **state) {
    (void)state;
    bench b;
    tt__search all, copy = {.best = TT__NOTHING};
    tt_result result = {0};
    bool holds;
    bench_open(&b, false);
    bench_search(&b, &tt__no_limits, &all);
    tt__search_close(&all);
    bench_search(&b, &tt__no_limits, &all);
    assert_int_equal(all.n_measured, 0);
    for (int replayed = 0; replayed < 2; replayed++) {
        b.opts.replay = replayed ? "a recording" : NULL;
        bench_begin_run(&b, replayed ? "replayed" : "measured");
        assert_ok(tt__elect(&b.s, &all, &copy, &result));
        assert_ok(tt__stored_winner(&b.s, &all, &result, &holds));
        assert_true(holds);
    }
    assert_int_equal(result.trials, SPACE);
    all.n_tried = 1; /* the winner was elected among more templates: told is what this search knows */
    assert_ok(tt__stored_winner(&b.s, &all, &result, &holds));
    assert_int_equal(result.trials, 1);
    b.opts.replay = NULL;
    assert_ok(tt__stored_winner(&b.s, &all, &result, &holds));
    assert_false(holds);
    tt__search_close(&all);
    bench_close(&b);
}

static bool holds(race *r) {
    bool answer;
    r->all.n_measured = 0;
    assert_ok(tt__stored_winner(&r->b.s, &r->all, &r->result, &answer));
    return answer;
}

/* It holds for the driver, the compiler, the method and the text that it was measured with. */
static void test_a_winner_holds(void **state) {
    (void)state;
    race r;
    race_open(&r, false);
    race_run(&r);
    assert_true(holds(&r));
    char *const validators[] = {r.b.s.env.driver, r.b.s.env.nvrtc, r.b.s.env.library, r.b.f.t[0]->hash};
    for (size_t i = 0; i < sizeof validators / sizeof *validators; i++) {
        char *last = validators[i] + strlen(validators[i]) - 1, was = *last;
        *last = '?';
        assert_false(holds(&r));
        *last = was;
    }
    assert_true(holds(&r));
    race_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elects_between_ticks),
        cmocka_unit_test(test_judges_by_the_lower_three_quarters),
        cmocka_unit_test(test_who_are_equals),
        cmocka_unit_test(test_elects_the_first_of_equals),
        cmocka_unit_test(test_leaves_stages_out),
        cmocka_unit_test(test_heats),
        cmocka_unit_test(test_heats_of_brief_problems),
        cmocka_unit_test(test_all_stay),
        cmocka_unit_test(test_what_is_short),
        cmocka_unit_test(test_what_is_decided),
        cmocka_unit_test(test_the_default_waits),
        cmocka_unit_test(test_no_winner_is_slower_than_the_default),
        cmocka_unit_test(test_no_winner_is_slower_in_noise),
        cmocka_unit_test(test_samples_of_an_earlier_stage),
        cmocka_unit_test(test_the_incumbent),
        cmocka_unit_test(test_a_stage_that_nobody_passes),
        cmocka_unit_test(test_a_stage_that_fails),
        cmocka_unit_test(test_a_stage_that_is_interrupted),
        cmocka_unit_test(test_trials_that_do_not_pair),
        cmocka_unit_test(test_elects_without_samples),
        cmocka_unit_test(test_a_replayed_winner_does_not_hold),
        cmocka_unit_test(test_a_winner_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
