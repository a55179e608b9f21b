/*
 * The stages of the finals, on a backend with invented times: the entrants, how long each stage takes, and
 * what a stage does that fails.
 */
#include <math.h>

#include "base/clock.h"
#include "race_fixture.h"
#include "tuner/finals/winner.h"

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
    assert_true(r.b.backend.rounds[0].first && !r.b.backend.rounds[1].first);
    assert_true(r.b.backend.rounds[2].first && !r.b.backend.rounds[3].first); /* the last one, and again */
    EXPECT_STAGES(&r, SPACE, 11, 6, 6);
    expect_stored_finals(&r, SPACE);
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

/* The time limit follows from the times of all entrants, as measured and not as weighed. */
static void test_the_time_of_a_lap(void **state) {
    (void)state;
    race r;
    race_open(&r, false);
    r.all.trials[3].time_us = 10.5;
    r.all.space.items[3].weight = 0.5;
    race_run(&r);
    assert_true(fabs(r.b.backend.lap_us[0] - ((SPACE - 1) * 10 + 21)) < 1e-6);
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
 * again, three times as long. */
static void test_what_is_short(void **state) {
    (void)state;
    static const double longer[] = {4, 4, 1};
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
    assert_true(fabs(worth_s[1][3] / worth_s[1][2] - 3) < 1e-9);
}

/* The last stage decides if one contender is left, or one is faster than each other beyond the noise. It also
 * does if they are surely less than 0.1 % apart. */
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

/* The first stage verifies again. Who is wrong there cannot win, not even if nobody is left. */
static void test_who_is_wrong_cannot_win(void **state) {
    (void)state;
    race r;
    race_open(&r, false);
    r.b.backend.n_wrong = SPACE - 1;
    race_run(&r);
    assert_true(r.b.backend.rounds[0].first);
    expect_elected(&r, SPACE - 1);
    race_close(&r);

    race_open(&r, false);
    r.b.backend.n_wrong = SPACE;
    race_run(&r);
    assert_string_equal(r.result.config, "");
    assert_string_equal(r.result.note,
                        "the finals found all wrong that may win, the first A=0 B=0: entrant 0 is wrong");
    assert_int_equal(r.result.failed, SPACE);
    assert_int_equal(r.result.trials, SPACE);
    race_close(&r);
}

static void search_again(race *r) {
    tt__search_close(&r->all);
    bench_begin_run(&r->b, "measured");
    bench_search(&r->b, &tt__no_limits, &r->all);
}

/* A later run may have no finals, so its screening must know who was wrong. */
static void test_who_was_wrong_stays_wrong(void **state) {
    (void)state;
    race r;
    race_open(&r, false);
    r.b.backend.n_wrong = SPACE - 2;
    race_run(&r);
    search_again(&r);
    assert_int_equal(r.all.n_failed, SPACE - 2);
    assert_int_equal(r.all.trials[0].status, TT__TRIAL_WRONG_RESULT);
    assert_string_equal(r.all.trials[0].reason, "entrant 0 is wrong");
    race_close(&r);
}

/* A heat found some wrong before the next one failed. */
static void test_who_is_wrong_in_a_heat(void **state) {
    (void)state;
    race r;
    race_open(&r, true);
    r.b.backend.n_wrong = 20; /* the first heat */
    r.b.backend.fails_at = 2;
    race_run(&r);
    EXPECT_STAGES(&r, 20, 20);
    expect_elected(&r, 20);
    race_close(&r);
}

/* Programs must not launch a stored winner that is wrong, also if nothing replaces it. One of another driver
 * is not launched with this one. */
static void test_a_wrong_winner_goes(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        const bool in_finals = k % 2, other_driver = k / 2;
        race r;
        bool has;
        race_open(&r, false);
        race_run(&r);
        assert_string_equal(stored_winner(&r).config, r.all.space.items[5].config);
        r.b.backend.n_wrong = SPACE;
        r.b.backend.wrong = !in_finals;
        r.b.opts.force = true;
        if (other_driver)
            strcpy(r.b.s.env.driver, "581.0");
        search_again(&r);
        if (in_finals)
            race_run(&r);
        else
            assert_ok(tt__winner_revoke(&r.b.s, &r.all, NULL));
        assert_ok(tt__store_has_winner(r.b.s.store, r.b.s.gpu_id, r.all.problem_id, &has));
        assert_int_equal(has, other_driver);
        assert_int_equal(
            !!strstr(r.b.message, "the stored winner is wrong, and was removed: numbers A=2 B=1"),
            !other_driver);
        race_close(&r);
    }
}

/* Without finals the least median wins: it was verified again, and samples of a screening are no pairs. */
static void test_the_screening_elects_by_medians(void **state) {
    (void)state;
    race r;
    race_open(&r, false);
    r.b.backend.fails_at = 1;
    tt__screened *lucky = &r.all.trials[3];
    for (int i = 0; i < lucky->n_samples; i++)
        lucky->samples_us[i] = 1;
    race_run(&r);
    expect_elected(&r, 0);
    race_close(&r);
}

/* A failing stage ends the finals. Earlier stages count, and the election is among the rest. */
static void test_a_stage_that_fails(void **state) {
    (void)state;
    for (size_t fails_at = 1; fails_at <= 4; fails_at++) { /* the fourth is the last one again */
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
    assert_int_equal(bench_elect(&r.b.s, &r.all, &r.copy, &r.result), TT_E_INTERRUPTED);
    assert_string_equal(r.result.config, "");
    assert_string_equal(r.b.message, "");
    race_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elects_between_ticks),
        cmocka_unit_test(test_who_is_wrong_cannot_win),
        cmocka_unit_test(test_who_was_wrong_stays_wrong),
        cmocka_unit_test(test_who_is_wrong_in_a_heat),
        cmocka_unit_test(test_a_wrong_winner_goes),
        cmocka_unit_test(test_the_screening_elects_by_medians),
        cmocka_unit_test(test_leaves_stages_out),
        cmocka_unit_test(test_the_time_of_a_lap),
        cmocka_unit_test(test_heats),
        cmocka_unit_test(test_heats_of_brief_problems),
        cmocka_unit_test(test_all_stay),
        cmocka_unit_test(test_what_is_short),
        cmocka_unit_test(test_what_is_decided),
        cmocka_unit_test(test_the_default_waits),
        cmocka_unit_test(test_samples_of_an_earlier_stage),
        cmocka_unit_test(test_a_stage_that_nobody_passes),
        cmocka_unit_test(test_a_stage_that_fails),
        cmocka_unit_test(test_a_stage_that_is_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
