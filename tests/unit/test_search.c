/*
 * Searches on a backend with invented times: their trials, rounds and call-backs. For the number of trials
 * see test_effort.c, for compilers test_ahead.c.
 */
#include <math.h>

#include "base/clock.h"
#include "db/conn.h"
#include "db/store.h"
#include "dispatch/context.h"
#include "race_fixture.h"
#include "tuner/search/with_copy.h"

/* Of equally fast configurations the first in the space is the best, in any order of trials. */
static void test_the_best_of_equals(void **state) {
    (void)state;
    bench b;
    tt__search some;
    bench_open(&b, false);
    b.backend.alike = true;
    assert_ok(tt__search_open(&b.s, &b.f.problem, &tt__no_limits, &some));
    static const size_t order[] = {10, 5, 7}, best[] = {10, 5, 5};
    for (size_t k = 0; k < 3; k++) {
        assert_ok(tt__search_try(&b.s, &some, order[k]));
        assert_int_equal(some.best, best[k]);
    }
    tt__search_close(&some);
    bench_close(&b);
}

/* How many of the space a search measures now, after earlier ones. */
static size_t measured_now(bench *b) {
    tt__search all;
    bench_search(b, &tt__no_limits, &all);
    size_t n = all.n_measured;
    tt__search_close(&all);
    return n;
}

/* Trials of a replay count for replays only. Those of an older text count for nothing. */
static void test_trials_that_are_no_evidence(void **state) {
    (void)state;
    bench b;
    bench_open(&b, false);
    bench_begin_run(&b, "replayed");
    assert_int_equal(measured_now(&b), SPACE);
    b.opts.replay = "a recording";
    assert_int_equal(measured_now(&b), 0);
    b.opts.replay = NULL;
    bench_begin_run(&b, "measured");
    assert_int_equal(measured_now(&b), SPACE);
    assert_int_equal(measured_now(&b), 0);
    b.f.t[0]->hash[0] = b.f.t[0]->hash[0] == '0' ? '1' : '0';
    assert_int_equal(measured_now(&b), SPACE);
    bench_close(&b);
}

/* The stored winner competes although it is left out. A forced run measures it again. */
static void test_a_winner_that_only_leaves_out(void **state) {
    static const char *const only[] = {"letters"};
    (void)state;
    race r;
    race_open(&r, true);
    race_run(&r);
    expect_elected(&r, 5); /* of numbers */
    tt__search_close(&r.all);
    r.b.opts.only = only;
    r.b.opts.n_only = 1;
    r.b.opts.force = true;
    bench_begin_run(&r.b, "measured");
    const size_t n = SPACE_OF_BOTH - SPACE;
    for (int again = 0; again < 2;
         again++) { /* a run does not measure anything twice, as the copy of two sizes */
        assert_ok(tt__search_open(&r.b.s, &r.b.f.problem, &tt__no_limits, &r.all));
        assert_int_equal(r.all.space.n, n + 1);
        assert_string_equal(r.all.space.items[n].config, r.result.config);
        for (size_t i = 0; i <= n; i++)
            assert_int_equal(r.all.known[i], again && i == 3 ? TT__TRIED : TT__UNTRIED);
        if (!again) {
            assert_ok(tt__search_try(&r.b.s, &r.all, 3));
            tt__search_close(&r.all);
        }
    }
    race_close(&r);
}

/* Each shard's part has the stored winner, so that a worse one cannot replace it. */
static void test_the_incumbent_is_in_every_part(void **state) {
    (void)state;
    enum { PARTS = 60 }; /* more than configurations: some parts have the winner alone */
    race r;
    size_t n = 0;
    race_open(&r, true);
    race_run(&r);
    tt__search_close(&r.all);
    for (int k = 0; k < 2 * PARTS; k++) {
        r.b.opts.force = k >= PARTS;
        if (k == PARTS)
            bench_begin_run(&r.b, "measured");
        r.b.call.part = (tt__space_part){k % PARTS, PARTS};
        assert_ok(tt__search_open(&r.b.s, &r.b.f.problem, &tt__no_limits, &r.all));
        const int64_t at = tt__space_member(&r.all.space, r.result.kernel, r.result.config);
        assert_true(at != TT__NOTHING);
        assert_int_equal(r.all.known[at], r.b.opts.force ? TT__UNTRIED : TT__TRIED);
        n += r.all.space.n - 1;
        tt__search_close(&r.all);
    }
    assert_int_equal(n, 2 * (SPACE_OF_BOTH - 1));
    race_close(&r);
}

/* A small space is tried whole, also if the winner of another part is one more. */
static void test_a_part_is_tried_whole(void **state) {
    (void)state;
    race r;
    race_open(&r, true);
    race_run(&r);
    tt__operation plain = *r.b.f.t[0]->operation;
    plain.moves = false; /* no cost model */
    r.b.f.t[0]->operation = r.b.f.t[1]->operation = &plain;
    r.b.opts.force = true;
    bench_begin_run(&r.b, "measured");
    for (int k = 0; k < 2; k++) {
        tt__limits limits = {4, INFINITY, INFINITY, 0, 0, 0, 0};
        r.b.call.part = (tt__space_part){k, 2};
        for (int presumed = 1; presumed >= 0; presumed--) {
            tt__search_close(&r.all);
            r.b.s.presumed = presumed; /* without the stored winner */
            assert_ok(tt__search_open(&r.b.s, &r.b.f.problem, &limits, &r.all));
            limits.whole = r.all.space.n;
        }
        assert_int_equal(r.all.wanted, r.all.space.n);
    }
    race_close(&r);
}

/* Not every part has the default. What is known about the winner stays. */
static void test_a_part_keeps_the_speedup(void **state) {
    (void)state;
    enum { PARTS = 60 };
    race r;
    race_open(&r, true);
    race_run(&r);
    const double speedup = r.result.speedup_vs_default;
    assert_true(speedup > 0);
    for (int k = 0, n = 0; n == 0; k++) {
        tt__search_close(&r.all);
        r.b.call.part = (tt__space_part){k, PARTS};
        assert_ok(tt__search_open(&r.b.s, &r.b.f.problem, &tt__no_limits, &r.all));
        n = r.all.space.n == 1; /* the winner alone */
    }
    r.b.backend.n_ticks = 0;
    race_run(&r);
    expect_elected(&r, 0);
    assert_true(r.result.speedup_vs_default == speedup);
    race_close(&r);
}

/* Configurations that cannot win are measured shortly. */
static void test_cutoff(void **state) {
    (void)state;
    bench b;
    tt__search some;
    bench_open(&b, false);
    assert_ok(tt__search_open(&b.s, &b.f.problem, &tt__no_limits, &some));
    assert_ok(tt__search_try(&b.s, &some, 10));
    assert_true(b.backend.cutoff_us == 0);
    assert_ok(tt__search_try(&b.s, &some, 0));
    assert_true(b.backend.cutoff_us == 1.25 * 20);
    assert_ok(tt__search_try(&b.s, &some, 1));
    assert_true(b.backend.cutoff_us == 1.25 * 10);
    assert_int_equal(some.n_tried, 3);
    assert_ok(tt__search_try(&b.s, &some, 1)); /* it is known */
    assert_int_equal(some.n_tried, 3);
    tt__search_close(&some);
    bench_close(&b);
}

static void keep_progress(void *user, const tt_progress *p) {
    *(tt_progress *)user = *p;
}

/* Times are told as they were measured, not as what they are worth. */
static void test_tells_times(void **state) {
    (void)state;
    bench b;
    tt__search all;
    tt_progress told;
    bench_open(&b, false);
    bench_search(&b, &tt__no_limits, &all);
    all.space.items[all.best].weight = 0.5;
    b.opts.on_progress = keep_progress;
    b.opts.user = &told;
    tt__search_progress(&b.s, &all, "search");
    assert_true(told.best_us == 20);
    assert_true(tt__search_best_us(&all) == 20);
    tt__search_close(&all);
    assert_true(tt__search_best_us(&all) == 0);
    bench_close(&b);
}

/* A long search of the copy does not slow down the problem's. Later problems have copies, too, and those of
 * other kinds of GPU count. */
static void test_tells_the_time_left(void **state) {
    (void)state;
    bench b;
    tt__search all;
    tt_progress told;
    bench_open(&b, false);
    bench_search(&b, &tt__no_limits, &all);
    all.wanted *= 2;
    b.opts.on_progress = keep_progress;
    b.opts.user = &told;
    b.s.started_s = all.began_s - 1000;
    for (b.s.n_problems = 1; b.s.n_problems < 4; b.s.n_problems++) {
        tt__search_progress(&b.s, &all, "search");
        assert_in_range((int64_t)told.eta_s, 1000 * (b.s.n_problems - 1), 1000 * (b.s.n_problems - 1) + 100);
    }
    b.s.n_problems = 2;
    for (b.s.n_kinds = 3; b.s.kind < b.s.n_kinds; b.s.kind++) {
        tt__search_progress(&b.s, &all, "search");
        const size_t left_s = 1000 * (5 - 2 * b.s.kind) / (2 * b.s.kind + 1);
        assert_in_range((int64_t)told.eta_s, left_s, left_s + 100);
    }
    tt__search_close(&all);
    bench_close(&b);
}

/* The first trial of a problem is measured too slow, and one is fast by luck: both are screened twice. */
static void test_doubtful_screenings(void **state) {
    (void)state;
    enum { LUCKY = 7 };
    for (int varies = 0; varies < 2; varies++) {
        bench b;
        tt__search all;
        bench_open(&b, false);
        b.backend.base.varies = varies;
        b.backend.late_us = 5;
        b.backend.lucky_at = LUCKY;
        b.s.strategy = &tt__strategy_exhaustive;
        bench_search(&b, &tt__no_limits, &all);
        assert_int_equal(all.n_tried, SPACE);
        assert_int_equal(all.n_measured, SPACE);
        assert_int_equal(b.backend.n_trials, SPACE + (varies ? 2 : 0));
        assert_true(all.trials[0].time_us == (varies ? 10 : 15));
        assert_true(all.trials[LUCKY].time_us == (varies ? 10 + LUCKY : 1));
        tt__search_close(&all);
        bench_search(&b, &tt__no_limits, &all); /* what is stored is what counted */
        assert_true(all.trials[0].time_us == (varies ? 10 : 15));
        tt__search_close(&all);
        bench_close(&b);
    }
}

/* What a search keeps of stored trials: the first samples, and why they failed. */
static void test_what_is_kept(void **state) {
    (void)state;
    bench b;
    tt__search all;
    tt__trial good = {.time_us = 3, .n_samples = TT__SAMPLES_MAX, .regs = 40, .bits = 5}, again;
    const tt__trial wrong = {.status = TT__TRIAL_WRONG_RESULT, .reason = "y[3] is 2"};
    for (int i = 0; i < TT__SAMPLES_MAX; i++)
        good.samples_us[i] = (float)(3 + i);
    bench_open(&b, false);
    assert_ok(tt__search_open(&b.s, &b.f.problem, &tt__no_limits, &all));
    assert_ok(tt__session_store(&b.s, all.problem_id, &all.space.items[0], TT__STAGE_SCREEN, &good));
    assert_ok(tt__session_store(&b.s, all.problem_id, &all.space.items[1], TT__STAGE_SCREEN, &wrong));
    tt__search_close(&all);
    assert_ok(tt__search_open(&b.s, &b.f.problem, &tt__no_limits, &all));
    assert_int_equal(all.n_tried, 2);
    tt__search_trial(&again, &all, 0);
    assert_int_equal(again.n_samples, TT__SCREEN_MAX);
    assert_memory_equal(again.samples_us, good.samples_us, TT__SCREEN_MAX * sizeof *again.samples_us);
    assert_true(again.time_us == 3 && again.weight == 1 && again.regs == 40 && again.bits == 5);
    assert_string_equal(again.reason, "");
    tt__search_trial(&again, &all, 1);
    assert_int_equal(again.status, TT__TRIAL_WRONG_RESULT);
    assert_string_equal(again.reason, "y[3] is 2");
    tt__search_close(&all);
    bench_close(&b);
}

/* With equal bits wanted, a configuration with others counts as four times as long, also when that is found
 * later. */
static void test_other_bits_are_longer(void **state) {
    (void)state;
    enum { CLASS = 5, OTHER = 7 };
    bench b;
    tt__search all;
    bench_open(&b, false);
    b.opts.same_bits = true;
    assert_ok(tt__search_open(&b.s, &b.f.problem, &tt__no_limits, &all));
    for (size_t i = 0; i < 3; i++) {
        const tt__trial trial = {
            .time_us = 3, .n_samples = 1, .samples_us = {3}, .bits = i == 1 ? OTHER : CLASS};
        assert_ok(tt__session_store(&b.s, all.problem_id, &all.space.items[i], TT__STAGE_SCREEN, &trial));
    }
    tt__search_close(&all);
    assert_ok(tt__search_open(&b.s, &b.f.problem, &tt__no_limits, &all));
    assert_int_equal(all.bits, CLASS);
    assert_true(all.trials[0].time_us == 3 && all.trials[1].time_us == 12 && all.trials[2].time_us == 3);
    assert_ok(tt__search_expel(&b.s, &all, 2, OTHER));
    assert_true(all.trials[2].time_us == 12 && all.trials[2].samples_us[0] == 12);
    tt__search_close(&all);
    bench_close(&b);
}

/* A budget that has to last for long launches is not spent on a second screening. */
static void test_long_screenings_within_a_budget(void **state) {
    (void)state;
    bench b;
    tt__search all;
    bench_open(&b, false);
    b.backend.base.varies = true;
    b.backend.us = TT__LONG_US;
    tt__limits limits = tt__no_limits;
    limits.deadline_s = tt__now_s() + 1000;
    b.s.end_s = limits.deadline_s;
    bench_search(&b, &limits, &all);
    assert_int_equal(b.backend.n_trials, SPACE);
    tt__search_close(&all);
    bench_close(&b);
}

static size_t n_rounds;

static tt_status open_round(void **self, const tt__view *view, uint64_t seed) {
    assert_int_equal(view->n_favourites, n_rounds++ == 0 ? 7 : 0); /* later ones are not compiled ahead */
    return tt__strategy_exhaustive.open(self, view, seed);
}

/* A sampled space is widened less and less often: after 32 trials, then after half as many more. */
static void test_rounds_of_a_sample(void **state) {
    (void)state;
    bench b;
    tt__search all;
    tt__strategy in_order = tt__strategy_exhaustive;
    in_order.open = open_round;
    bench_open(&b, true);
    b.s.strategy = &in_order;
    assert_ok(
        tt__search_open(&b.s, &b.f.problem, &(tt__limits){SPACE_OF_BOTH, INFINITY, true, 0, 0, 0, 0}, &all));
    all.space.sampled = true;
    all.n_favourites = 7;
    assert_ok(tt__search_run(&b.s, &all, "search"));
    assert_int_equal(all.n_tried, SPACE_OF_BOTH);
    assert_int_equal(n_rounds, 2);
    tt__search_close(&all);
    bench_close(&b);
}

/* Two more trials are in flight for each GPU more. */
static void test_in_flight_on_several_gpus(void **state) {
    (void)state;
    for (size_t n = 1; n <= 3; n += 2) {
        bench b;
        tt__search some;
        tt__strategy in_order = tt__strategy_exhaustive;
        in_order.window = 3;
        bench_open(&b, false);
        b.s.strategy = &in_order;
        b.s.n_gpus = n;
        bench_search(&b, &(tt__limits){4, INFINITY, true, 0, 0, 0, 0},
                     &some); /* ends before the window grows */
        assert_int_equal(b.backend.most_waiting, n == 1 ? 3 : 4);
        tt__search_close(&some);
        bench_close(&b);
    }
}

/* Without a cost model, one trial for each compiler. */
static void test_in_flight_for_compilers(void **state) {
    (void)state;
    for (int moves = 0; moves < 2; moves++) {
        bench b;
        tt__search some;
        tt__strategy in_order = tt__strategy_exhaustive;
        in_order.window = 3;
        bench_open(&b, false);
        tt__operation op = *b.f.t[0]->operation;
        op.moves = moves;
        b.f.t[0]->operation = &op;
        b.s.strategy = &in_order;
        b.s.n_gpus = 1;
        b.backend.n_compilers = 4;
        bench_search(&b, &(tt__limits){4, INFINITY, true, 0, 0, 0, 0}, &some);
        assert_int_equal(b.backend.most_waiting, moves ? 3 : 4);
        tt__search_close(&some);
        bench_close(&b);
    }
}

/* A replayed study wants the recorded winner, in whatever order the trials are replayed. */
static void test_a_replayed_question_tries_all(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        bench b;
        tt__with_copy both;
        bench_open(&b, false);
        b.f.t[1] = field_template("kernel lines\nop copy\nblock 32\ngrid bytes\nargs dst, src\n");
        b.set.n = 2;
        b.opts.replay = k & 1 ? "some.json" : NULL;
        b.s.asks = k & 2;
        assert_ok(tt__with_copy_open(&b.s, &b.f.problem, 1, &both));
        assert_int_equal(both.search.limits.patience, k == 3 ? 0 : 3);
        tt__with_copy_close(&both);
        bench_close(&b);
    }
}

/* Finals alone measure no new trials, not even of a template that has none. */
static void test_finals_alone_try_nothing(void **state) {
    (void)state;
    bench b;
    tt__search some;
    tt__with_copy both;
    bench_open(&b, true);
    b.set.n = 1;
    bench_search(&b, &(tt__limits){5, INFINITY, INFINITY, 0, 0, 0, 0}, &some);
    tt__search_close(&some);
    b.f.t[2] = field_template("kernel lines\nop copy\nblock 32\ngrid bytes\nargs dst, src\n");
    b.set.n = 3;
    b.call.only_finals = true;
    assert_ok(tt__with_copy_open(&b.s, &b.f.problem, 1, &both));
    assert_int_equal(both.search.n_tried, 5);
    assert_int_equal(tt__search_left(&both.search), 0);
    tt__with_copy_close(&both);
    bench_close(&b);
}

/* Configurations missing from a recording cost no trial. */
static void test_counts_what_there_is(void **state) {
    (void)state;
    bench b;
    tt__search some;
    bench_open(&b, false);
    b.backend.n_unrecorded = 4;
    b.s.strategy = &tt__strategy_exhaustive;
    bench_search(&b, &(tt__limits){5, INFINITY, INFINITY, 0, 0, 0, 0}, &some);
    assert_int_equal(some.n_skipped, 4);
    assert_int_equal(some.n_tried, 4 + 5);
    tt__search_close(&some);
    bench_close(&b);
}

static int stop(void *user) {
    ++*(int *)user;
    return 1;
}

static void test_a_replay_stops_when_asked(void **state) {
    (void)state;
    int asked = 0;
    tt_ctx *ctx;
    tt_report *report;
    tt_open_opts open = TT_INIT(tt_open_opts);
    tt_problem p = TT_INIT(tt_problem);
    tt_tune_opts tune = TT_INIT(tt_tune_opts);
    open.db_path = ":memory:";
    p.rows = p.cols = 4096;
    tune.replay = TT_SOURCE_DIR "/tests/data/small.json";
    tune.should_stop = stop;
    tune.user = &asked;
    assert_ok(tt_open(&ctx, &open));
    assert_int_equal(tt_tune(&report, ctx, &p, 1, &tune), TT_E_INTERRUPTED);
    assert_in_range(asked, 1, 2); /* once by the replay, and perhaps by the store */
    assert_int_equal(report->n_results, 0);
    int64_t n_ended; /* a run without an end keeps `prune` from its cubins for a day */
    assert_ok(tt__db_int(ctx->store, &n_ended, 0, TT__SQL_UNDER_WAY, "i", (int64_t)0));
    assert_int_equal(n_ended, 0);
    tt_report_free(&report);
    tt_close(&ctx);
}

/* During a run, a store in memory belongs to the run. Only its call-backs may use it. */
static void ask(void *user, const tt_progress *p) {
    tt_ctx **ctx = user;
    tt_choice c = TT_INIT(tt_choice);
    tt_problem asked = TT_INIT(tt_problem);
    (void)p;
    asked.rows = asked.cols = 4096;
    if (*ctx)
        assert_ok(tt_best(&c, *ctx, &asked));
    *ctx = NULL; /* once is enough */
}

static void test_a_call_back_may_look_up(void **state) {
    (void)state;
    tt_ctx *ctx, *asked;
    tt_report *report;
    tt_open_opts open = TT_INIT(tt_open_opts);
    tt_problem p = TT_INIT(tt_problem);
    tt_tune_opts tune = TT_INIT(tt_tune_opts);
    open.db_path = ":memory:";
    open.gpu = "NVIDIA H200";
    p.rows = p.cols = 4096;
    tune.replay = TT_SOURCE_DIR "/tests/data/small.json";
    tune.effort = TT_EFFORT_QUICK;
    tune.on_progress = ask;
    tune.user = &asked;
    assert_ok(tt_open(&ctx, &open));
    asked = ctx;
    assert_ok(tt_tune(&report, ctx, &p, 1, &tune));
    assert_null(asked);
    tt_report_free(&report);
    tt_close(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_best_of_equals),
        cmocka_unit_test(test_trials_that_are_no_evidence),
        cmocka_unit_test(test_a_winner_that_only_leaves_out),
        cmocka_unit_test(test_the_incumbent_is_in_every_part),
        cmocka_unit_test(test_a_part_is_tried_whole),
        cmocka_unit_test(test_a_part_keeps_the_speedup),
        cmocka_unit_test(test_cutoff),
        cmocka_unit_test(test_tells_times),
        cmocka_unit_test(test_tells_the_time_left),
        cmocka_unit_test(test_doubtful_screenings),
        cmocka_unit_test(test_what_is_kept),
        cmocka_unit_test(test_other_bits_are_longer),
        cmocka_unit_test(test_long_screenings_within_a_budget),
        cmocka_unit_test(test_rounds_of_a_sample),
        cmocka_unit_test(test_in_flight_on_several_gpus),
        cmocka_unit_test(test_in_flight_for_compilers),
        cmocka_unit_test(test_a_replayed_question_tries_all),
        cmocka_unit_test(test_finals_alone_try_nothing),
        cmocka_unit_test(test_counts_what_there_is),
        cmocka_unit_test(test_a_replay_stops_when_asked),
        cmocka_unit_test(test_a_call_back_may_look_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
