/*
 * Searches on a backend with invented times: the effect of limits and stored trials. For compilers see
 * test_ahead.c.
 */
#include <math.h>

#include "base/clock.h"
#include "search_fixture.h"
#include "tuner/searches.h"

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

/* What a replay has stored counts for replays only, and what an older text got counts for nothing. */
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
    *(double *)user = p->best_us;
}

/* Times are told as they were measured, not as what they are worth. */
static void test_tells_times(void **state) {
    (void)state;
    bench b;
    tt__search all;
    double told_us = 0;
    bench_open(&b, false);
    bench_search(&b, &tt__no_limits, &all);
    all.space.items[all.best].weight = 0.5;
    b.opts.on_progress = keep_progress;
    b.opts.user = &told_us;
    tt__session_progress(&b.s, &all, "search");
    assert_true(told_us == 20);
    assert_true(tt__search_best_us(&all) == 20);
    tt__search_close(&all);
    assert_true(tt__search_best_us(&all) == 0);
    bench_close(&b);
}

/* So many trials in all are wanted; so many are measured for it, and of each template so
 * many are known then. */
static void expect_known(bench *b, size_t wanted, size_t measured, const size_t of[3]) {
    tt__search some;
    size_t known[3] = {0, 0, 0};
    tt__limits limits = {wanted, INFINITY, INFINITY, 0, 0, b->patience};
    if (b->is_short) /* the fastest takes 10 us */
        limits = (tt__limits){wanted / 2, INFINITY, INFINITY, wanted, 0, 0};
    bench_search(b, &limits, &some);
    for (size_t i = 0; i < some.space.n; i++)
        for (size_t k = 0; k < 3; k++)
            known[k] += some.space.items[i].t == b->f.t[k] && some.known[i] == TT__TRIED;
    assert_int_equal(some.n_measured, measured);
    for (size_t k = 0; k < 3; k++)
        assert_int_equal(known[k], of[k]);
    assert_false(some.cut);
    tt__search_close(&some);
}

static void expect_measured(bench *b, size_t wanted, size_t measured, size_t of_numbers, size_t of_letters) {
    expect_known(b, wanted, measured, (size_t[]){of_numbers, of_letters, 0});
}

/* The effort that one template alone has had is not that of the others. */
static void test_effort_with_only(void **state) {
    static const char *const only[] = {"letters"};
    (void)state;
    bench b;
    bench_open(&b, true);
    b.s.strategy = &tt__strategy_exhaustive; /* numbers before letters */
    b.opts.only = only;
    b.opts.n_only = 1;
    expect_measured(&b, 12, 12, 0, 12);
    expect_measured(&b, 12, 0, 0, 12);
    b.opts.n_only = 0;
    expect_measured(&b, 12, 6, 6, 12); /* the other half */
    expect_measured(&b, 12, 0, 6, 12);
    expect_measured(&b, 20, 2, 8, 12);
    bench_close(&b);
    bench_open(&b, true);
    b.s.strategy = &tt__strategy_exhaustive;
    expect_measured(&b, 3, 3, 2, 1); /* never more than asked for, */
    expect_measured(&b, 3, 0, 2, 1);
    bench_close(&b);
    bench_open(&b, true);
    b.s.strategy = &tt__strategy_exhaustive;
    expect_measured(&b, 1, 1, 1, 0); /* however few */
    expect_measured(&b, 1, 0, 1, 0);
    bench_close(&b);
}

/* The templates' operation has no cost model. */
static void forget_model(bench *b) {
    static tt__operation plain;
    plain = *b->f.t[0]->operation;
    plain.moves = false;
    for (size_t i = 0; i < b->set.n; i++)
        b->f.t[i]->operation = &plain;
}

/* The same holds for a new template. One that the strategy never names is tried once. */
static void test_effort_with_a_new_template(void **state) {
    (void)state;
    for (int is_short = 0; is_short < 2; is_short++) {
        bench b;
        bench_open(&b, true);
        b.is_short = is_short;
        if (is_short)
            forget_model(&b);
        b.s.strategy = &tt__strategy_exhaustive;
        b.set.n = 1;
        expect_measured(&b, 10, 10, 10, 0);
        b.set.n = 2;
        expect_measured(&b, 10, 5, 14, 1);
        expect_measured(&b, 10, 0, 14, 1);
        expect_measured(&b, 16, 1, 15, 1);
        bench_close(&b);
    }
}

/* With a cost model, a search ends after half of the trials, if nothing was gained for long. Each template is
 * tried. Running it again measures nothing, unless a template is new. */
static void test_patience(void **state) {
    static const struct {
        size_t patience, n;
        double us; /* the first takes 20 us, the second 1 us more than this; 0: the first is the fastest */
        bool plain, wrong;
        size_t fast_at, of[3];
    } cases[] = {
        {5, 1, .of = {8}},
        {10, 1, .of = {10}},
        {5, 1, .us = 10, .of = {10}},
        {10, 1, .us = 10, .of = {16}},
        {10, 1, .us = 18.95, .of = {10}}, /* this is no gain */
        {10, 1, .us = 18.85, .of = {16}},
        {5, 1, .plain = true, .of = {16}},
        {5, 1, .wrong = true, .of = {16}}, /* nothing passed */
        {0, 1, .of = {16}},
        {5, 2, .of = {8, 1}},
        {5, 3, .of = {9, 1, 1}},
        {5, 3, .fast_at = SPACE, .of = {9, 1, 1}}, /* a gain after the end */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench b;
        bench_open(&b, true);
        b.s.strategy = &tt__strategy_exhaustive;
        b.backend.room = cases[i].n == 3 ? 2 : 1;
        b.patience = cases[i].patience;
        if (cases[i].n == 3)
            bench_add_words(&b);
        else
            b.set.n = cases[i].n;
        b.backend.slow_default = cases[i].us > 0;
        b.backend.us = cases[i].us > 0 ? cases[i].us : b.backend.us;
        b.backend.wrong = cases[i].wrong;
        b.backend.fast_at = cases[i].fast_at;
        if (cases[i].plain)
            forget_model(&b);
        const size_t n = cases[i].of[0] + cases[i].of[1] + cases[i].of[2];
        expect_known(&b, 16, n, cases[i].of);
        expect_known(&b, 16, 0, cases[i].of);
        if (n == 8) {
            b.set.n = 2;
            expect_measured(&b, 16, 8, 15, 1); /* this strategy does not name the new one */
            expect_measured(&b, 16, 0, 15, 1);
        }
        bench_close(&b);
    }
}

/* Stored trials of one template of three count for a third of the effort, of two templates for two thirds.
 * The rest is open to all, but each new template is tried. */
static void test_effort_of_three_templates(void **state) {
    static const char *const only[] = {"letters", "numbers"};
    static const struct {
        size_t n_only, wanted;
        size_t first[3], measured, then[3];
    } cases[] = {
        {1, 12, {0, 12, 0}, 8, {7, 12, 1}},
        {2, 12, {11, 1, 0}, 4, {14, 1, 1}},
        {1, 6, {0, 6, 0}, 4, {3, 6, 1}},
        {1, 5, {0, 5, 0}, 0, {0, 5, 0}}, /* less than two trials a template */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench b;
        bench_open(&b, true);
        bench_add_words(&b);
        b.s.strategy = &tt__strategy_exhaustive; /* numbers, letters, words */
        b.opts.only = only;
        b.opts.n_only = cases[i].n_only;
        expect_known(&b, cases[i].wanted, cases[i].wanted, cases[i].first);
        b.opts.n_only = 0;
        expect_known(&b, cases[i].wanted, cases[i].measured, cases[i].then);
        expect_known(&b, cases[i].wanted, 0, cases[i].then);
        bench_close(&b);
    }
}

/* Half of an effort, however small, is the strategy's own: the other one is kept for those it never comes to.
 */
static void test_half_is_the_strategys(void **state) {
    static const size_t of[][3] = {{1, 0, 0}, {1, 1, 0}, {2, 1, 0}, {2, 1, 1}};
    (void)state;
    for (size_t wanted = 1; wanted <= 4; wanted++) {
        bench b;
        bench_open(&b, true);
        bench_add_words(&b);
        b.s.strategy = &tt__strategy_exhaustive;
        expect_known(&b, wanted, wanted, of[wanted - 1]);
        bench_close(&b);
    }
}

/* Short is what takes less than 20 us. With a cost model it needs no more trials than others. */
static void test_effort_of_a_short_problem(void **state) {
    static const struct {
        double us;
        bool modelled;
        size_t measured;
    } cases[] = {{20, false, 7}, {19.99, false, 14}, {19.99, true, 7}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench b;
        bench_open(&b, false);
        b.is_short = true; /* else half as many are wanted */
        b.backend.alike = true;
        b.backend.us = cases[i].us;
        if (!cases[i].modelled)
            forget_model(&b);
        expect_measured(&b, 14, cases[i].measured, cases[i].measured, 0);
        bench_close(&b);
    }
}

static size_t n_rounds;

static tt_status open_round(void **self, const tt__view *view, uint64_t seed) {
    n_rounds++;
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
        tt__search_open(&b.s, &b.f.problem, &(tt__limits){SPACE_OF_BOTH, INFINITY, true, 0, 0, 0}, &all));
    all.space.sampled = true;
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
        bench_search(&b, &(tt__limits){4, INFINITY, true, 0, 0, 0}, &some); /* ends before the window grows */
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
        bench_search(&b, &(tt__limits){4, INFINITY, true, 0, 0, 0}, &some);
        assert_int_equal(b.backend.most_waiting, moves ? 3 : 4);
        tt__search_close(&some);
        bench_close(&b);
    }
}

/* Between problems the backend would prepare the copy's arrays again. */
static void test_the_copy_is_searched_once(void **state) {
    (void)state;
    bench b;
    tt__searches both;
    bench_open(&b, false);
    b.f.t[1] = field_template("kernel lines\nop copy\nblock 32\ngrid bytes\nargs dst, src\n");
    b.set.n = 2;
    b.f.problem.moved_bytes = 1 << 27;
    assert_ok(tt__searches_open(&b.s, &b.f.problem, 1, &both));
    for (int again = 0; again < 2; again++) {
        assert_ok(tt__searches_run_copy(&b.s, &both, 1));
        assert_int_equal(b.backend.n_opened, 1);
    }
    tt__searches_close(&both);
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
    bench_search(&b, &(tt__limits){5, INFINITY, INFINITY, 0, 0, 0}, &some);
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
    tune.replay = TT_SOURCE_DIR "/recordings/h200.json";
    tune.should_stop = stop;
    tune.user = &asked;
    assert_ok(tt_open(&ctx, &open));
    assert_int_equal(tt_tune(&report, ctx, &p, 1, &tune), TT_E_INTERRUPTED);
    assert_in_range(asked, 1, 2); /* once by the replay, and perhaps by the store */
    assert_int_equal(report->n_results, 0);
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
    tune.replay = TT_SOURCE_DIR "/recordings/h200.json";
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
        cmocka_unit_test(test_cutoff),
        cmocka_unit_test(test_tells_times),
        cmocka_unit_test(test_effort_with_only),
        cmocka_unit_test(test_effort_with_a_new_template),
        cmocka_unit_test(test_patience),
        cmocka_unit_test(test_effort_of_three_templates),
        cmocka_unit_test(test_half_is_the_strategys),
        cmocka_unit_test(test_effort_of_a_short_problem),
        cmocka_unit_test(test_rounds_of_a_sample),
        cmocka_unit_test(test_in_flight_on_several_gpus),
        cmocka_unit_test(test_in_flight_for_compilers),
        cmocka_unit_test(test_the_copy_is_searched_once),
        cmocka_unit_test(test_counts_what_there_is),
        cmocka_unit_test(test_a_replay_stops_when_asked),
        cmocka_unit_test(test_a_call_back_may_look_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
