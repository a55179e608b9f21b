/*
 * The election after finals with invented times, and how long a stored winner holds.
 */
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "race_fixture.h"
#include "tuner/finals/winner.h"

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

/* What programs launch now is in the finals, however slow its screening was, and can win. */
static void test_no_winner_is_slower_than_the_answer_before(void **state) {
    (void)state;
    for (size_t at = SPACE - 1; at > SPACE - 3; at--) {
        race r;
        race_open(&r, false);
        tt__search_close(&r.all);
        r.b.backend.alike = false; /* each in the space slower than the one before it */
        r.b.backend.n_ticks = 7;
        r.b.opts.force = true;
        bench_search(&r.b, &tt__no_limits, &r.all);
        const tt__configuration *c = &r.all.space.items[at];
        tt_choice now = TT_INIT(tt_choice);
        tt__copy(now.kernel, sizeof now.kernel, c->t->kernel);
        tt__copy(now.config, sizeof now.config, c->config);
        r.b.backend.fastest = c;
        race_run(&r);
        assert_string_not_equal(r.result.config, c->config);
        r.b.call.answers = (const tt_choice *[]){&now};
        race_run(&r);
        expect_elected(&r, at);
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
        assert_ok(bench_elect(&b.s, &all, &copy, &result));
        assert_string_equal(result.config, "A=0 B=0");
        assert_true(result.time_us == 10);
        assert_int_equal(b.backend.n_in[0], 1); /* the next takes a tenth longer */
        tt__search_close(&all);
    }
    bench_close(&b);
}

/* Where finals cannot be held, the stored winner stays if its own finals or its screening are as good as the
 * others' screenings. A forced run does not look at earlier ones, and one that measures not at replayed
 * ones. */
static void test_screenings_against_the_incumbent(void **state) {
    (void)state;
    static const struct {
        double its_us, other_us;
        bool forced, replayed;
        size_t elected;
        double us;
    } cases[] = {
        {12, 11, false, false, 5, 10}, {12, 9, false, false, 15, 9},  {8, 9, false, false, 5, 8},
        {12, 11, true, false, 15, 11}, {12, 11, false, true, 15, 11},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        race r;
        race_open(&r, false);
        bench_begin_run(&r.b, cases[i].replayed ? "replayed" : "measured");
        race_run(&r);
        expect_elected(&r, 5);
        bench_begin_run(&r.b, "measured");
        r.b.opts.force = cases[i].forced;
        r.b.backend.fails_at = 1;
        for (size_t k = 0; k < SPACE; k++) {
            r.all.trials[k].n_samples = 0;
            r.all.trials[k].time_us = k == 5 ? cases[i].its_us : k == 15 ? cases[i].other_us : 13;
        }
        r.all.best = 15;
        race_run(&r);
        expect_elected(&r, cases[i].elected);
        assert_true(r.result.time_us == cases[i].us);
        race_close(&r);
    }
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
        assert_ok(bench_elect(&b.s, &all, &copy, &result));
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
        cmocka_unit_test(test_judges_by_the_lower_three_quarters),
        cmocka_unit_test(test_who_are_equals),
        cmocka_unit_test(test_elects_the_first_of_equals),
        cmocka_unit_test(test_no_winner_is_slower_than_the_default),
        cmocka_unit_test(test_no_winner_is_slower_than_the_answer_before),
        cmocka_unit_test(test_no_winner_is_slower_in_noise),
        cmocka_unit_test(test_the_incumbent),
        cmocka_unit_test(test_trials_that_do_not_pair),
        cmocka_unit_test(test_elects_without_samples),
        cmocka_unit_test(test_screenings_against_the_incumbent),
        cmocka_unit_test(test_a_replayed_winner_does_not_hold),
        cmocka_unit_test(test_a_winner_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
