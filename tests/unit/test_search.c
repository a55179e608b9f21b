/* Searching and electing on a backend that makes its times up: what limits, stored trials and a lack of
 * samples do to them. */
#include <math.h>
#include <unistd.h>

#include "base/clock.h"
#include "space_fixture.h"
#include "tuner/session.h"

static const char numbers[] =
    "kernel numbers\nop transpose\nparam A 0 1 2 3 4 5 6 7 8 9\nparam B 0 1\nblock 32\n"
    "grid rows\nargs dst, src\ndefault A=0 B=0\n";
static const char letters[] =
    "kernel letters\nop transpose\nparam C 0 1 2 3 4 5 6 7 8 9\nparam D 0 1\nblock 32\n"
    "grid rows\nargs dst, src\ndefault C=5 D=1\n";
enum { SPACE = 20, SPACE_OF_BOTH = 40 };

/* A trial takes 10 us and its index. */
typedef struct fake {
    tt__backend base;
    size_t waiting[SPACE_OF_BOTH], n_waiting, n_expected;
    unsigned pause_us; /* until a trial comes back */
    int n_samples;     /* of each */
    bool finals_known;
    size_t n_unrecorded; /* so many at the front of the space */
    bool ticks;          /* all the same at first, and in the finals to the median, but not to the mean */
    const tt__candidate *fastest; /* by that mean: of the first who come to the finals, the sixth */
    size_t n_stages, n_entered;   /* of the finals; in all stages together */
    size_t fails_at, lost_at;     /* the stage that fails, that nobody passes; 0: none */
} fake;

static tt_status problem(tt__backend *b, const tt__problem *p, const tt__template *t) {
    (void)t;
    (void)b;
    (void)p;
    return TT_OK;
}

static tt_status expect(tt__backend *b, const tt__candidate *c, const tt__problem *p) {
    (void)c;
    (void)p;
    ((fake *)b)->n_expected++;
    return TT_OK;
}

static size_t room(const tt__backend *b) {
    return SPACE_OF_BOTH - ((const fake *)b)->n_waiting;
}

static tt_status submit(tt__backend *b, size_t id, const tt__candidate *c, double cutoff_us) {
    fake *f = (fake *)b;
    (void)c;
    (void)cutoff_us;
    f->waiting[f->n_waiting++] = id;
    return TT_OK;
}

static void fill(const fake *f, tt__trial *trial, double us) {
    *trial = (tt__trial){.time_us = us, .n_samples = f->n_samples};
    for (int i = 0; i < f->n_samples; i++)
        trial->samples_us[i] = (float)us;
}

static tt_status wait(tt__backend *b, size_t *id, tt__trial *trial) {
    fake *f = (fake *)b;
    usleep(f->pause_us);
    *id = f->waiting[0];
    fill(f, trial, f->ticks ? 10 : 10 + (double)*id);
    if (*id < f->n_unrecorded)
        *trial = (tt__trial){.status = TT__TRIAL_SKIPPED};
    memmove(f->waiting, f->waiting + 1, --f->n_waiting * sizeof *f->waiting);
    return TT_OK;
}

/* Of 7 samples four are 10; the other three are a tick more, or, of the fastest, less. */
static void fill_ticks(const fake *f, tt__trial *trial, bool fastest) {
    fill(f, trial, 10);
    for (int i = 0; i < 3; i++)
        trial->samples_us[2 * i] += fastest ? -0.1f : 0.1f;
}

static tt_status finals(tt__backend *b, const tt__candidate *const *c, size_t n, tt__rounds rounds,
                        tt__trial *trials) {
    fake *f = (fake *)b;
    assert_true(rounds.least >= 1 && rounds.most >= rounds.least && rounds.most <= TT__FINAL_ROUNDS_MAX);
    assert_true(n >= 1 && n <= TT__FINALISTS_MAX && rounds.loads >= 1 && rounds.loads <= rounds.least);
    if (++f->n_stages == f->fails_at)
        return tt__fail(TT_E_CUDA, "this stage fails");
    f->n_entered += n;
    if (!f->fastest)
        f->fastest = c[n > 5 ? 5 : 0];
    for (size_t i = 0; i < n; i++)
        if (f->n_stages == f->lost_at)
            trials[i] = (tt__trial){.status = TT__TRIAL_SKIPPED};
        else if (f->ticks)
            fill_ticks(f, &trials[i], c[i] == f->fastest);
        else if (f->finals_known)
            fill(f, &trials[i], 10 + (double)i);
        else
            trials[i] = (tt__trial){.status = TT__TRIAL_SKIPPED};
    return TT_OK;
}

static const tt__backend_ops ops = {NULL, problem, expect, room, submit, wait, finals, NULL};

typedef struct bench {
    field f;
    fake backend;
    tt__template_set set;
    tt_tune_opts opts;
    tt__session s;
    bool is_short; /* the effort that is wanted is that of short problems */
} bench;

static void begin_run(bench *b, const char *source) {
    assert_ok(tt__store_run_begin(b->s.store, b->s.gpu_id, &b->s.env, source, &b->s.run_id));
}

static void setup_with(bench *b, const char *second) {
    memset(b, 0, sizeof *b);
    field_open(&b->f, numbers, second);
    assert_int_equal(b->f.space.n, second ? SPACE_OF_BOTH : SPACE);
    b->backend = (fake){.base = {&ops}, .n_samples = 7, .finals_known = true};
    b->set = (tt__template_set){second ? 2 : 1, b->f.t};
    b->opts = (tt_tune_opts)TT_INIT(tt_tune_opts);
    b->s = (tt__session){.templates = &b->set,
                         .backend = &b->backend.base,
                         .opts = &b->opts,
                         .gpu = field_gpu,
                         .env = {"580.1", "13.0", TT__METHOD},
                         .n_problems = 1,
                         .end_s = INFINITY};
    assert_ok(tt__store_open(&b->s.store, ":memory:", TT__STORE_READ_WRITE));
    assert_ok(tt__store_gpu(b->s.store, &b->s.gpu, &b->s.gpu_id));
    begin_run(b, "measured");
}

static void setup(bench *b) {
    setup_with(b, NULL);
}

static void teardown(bench *b) {
    tt__store_close(&b->s.store);
    field_close(&b->f);
}

static void search(bench *b, const tt__limits *limits, tt__search *out) {
    assert_ok(tt__search_open(&b->s, &b->f.problem, limits, out));
    assert_ok(tt__search_expect(&b->s, out));
    assert_ok(tt__search_run(&b->s, out, "search"));
}

/* A budget that ends when all has been asked for has cut nothing. */
static void test_all_of_it_in_time(void **state) {
    (void)state;
    bench b;
    tt__search all;
    setup(&b);
    b.backend.pause_us = 20000;
    b.s.strategy = &tt__strategy_exhaustive; /* names all of it at once */
    search(&b, &(tt__limits){SIZE_MAX, tt__now_s() + 0.7, true, 0}, &all);
    assert_int_equal(all.n_tried, SPACE);
    assert_false(all.cut);
    tt__search_close(&all);
    teardown(&b);
}

/* The copy has a small part of the time, of which no finals are held. */
static void test_a_copy_in_little_time(void **state) {
    (void)state;
    bench b;
    tt__search copy;
    setup(&b);
    tt__limits limits = tt__limits_of(&b.opts, tt__now_s() + 2.4, 1), of_copy = tt__limits_of_copy(&limits);
    search(&b, &of_copy, &copy);
    assert_int_equal(copy.n_tried, SPACE);
    assert_false(copy.cut);
    tt__search_close(&copy);
    teardown(&b);
}

/* What is known need not be compiled for those that are not. */
static void test_goes_on_with_the_rest(void **state) {
    (void)state;
    bench b;
    tt__search some;
    setup(&b);
    search(&b, &(tt__limits){5, INFINITY, true, 0}, &some);
    assert_int_equal(some.n_tried, 5);
    assert_int_equal(b.backend.n_expected, 5);
    tt__search_close(&some);
    b.backend.n_expected = 0;
    search(&b, &(tt__limits){8, INFINITY, true, 0}, &some);
    assert_int_equal(some.n_tried, 8);
    assert_int_equal(some.n_measured, 3);
    assert_int_equal(b.backend.n_expected, 3);
    tt__search_close(&some);
    teardown(&b);
}

/* So many trials in all are wanted; so many are measured for it, and of each template so many are known then.
 */
static void expect_measured(bench *b, size_t wanted, size_t measured, size_t of_numbers, size_t of_letters) {
    tt__search some;
    size_t known[2] = {0, 0};
    tt__limits limits = {wanted, INFINITY, true, 0};
    if (b->is_short) /* the fastest takes 10 us */
        limits = (tt__limits){wanted / 2, INFINITY, true, wanted};
    search(b, &limits, &some);
    for (size_t i = 0; i < some.space.n; i++)
        known[some.space.items[i].t == b->f.t[1]] += some.known[i] == TT__TRIED;
    assert_int_equal(some.n_measured, measured);
    assert_int_equal(known[0], of_numbers);
    assert_int_equal(known[1], of_letters);
    assert_false(some.cut);
    tt__search_close(&some);
}

/* The effort that one template alone has had is not that of the others. */
static void test_effort_with_only(void **state) {
    static const char *const only[] = {"letters"};
    (void)state;
    bench b;
    setup_with(&b, letters);
    b.s.strategy = &tt__strategy_exhaustive; /* numbers before letters */
    b.opts.only = only;
    b.opts.n_only = 1;
    expect_measured(&b, 12, 12, 0, 12);
    expect_measured(&b, 12, 0, 0, 12);
    b.opts.n_only = 0;
    expect_measured(&b, 12, 6, 6, 12); /* the other half */
    expect_measured(&b, 12, 0, 6, 12);
    expect_measured(&b, 20, 2, 8, 12);
    teardown(&b);
    setup_with(&b, letters);
    b.s.strategy = &tt__strategy_exhaustive;
    expect_measured(&b, 3, 3, 2, 1); /* never more than asked for, */
    expect_measured(&b, 3, 0, 2, 1);
    teardown(&b);
    setup_with(&b, letters);
    b.s.strategy = &tt__strategy_exhaustive;
    expect_measured(&b, 1, 1, 1, 0); /* however few */
    expect_measured(&b, 1, 0, 1, 0);
    teardown(&b);
}

/* So it is with a template that is new; and one to which the strategy never comes is tried once. */
static void test_effort_with_a_new_template(void **state) {
    (void)state;
    for (int is_short = 0; is_short < 2; is_short++) {
        bench b;
        setup_with(&b, letters);
        b.is_short = is_short;
        b.s.strategy = &tt__strategy_exhaustive;
        b.set.n = 1;
        expect_measured(&b, 10, 10, 10, 0);
        b.set.n = 2;
        expect_measured(&b, 10, 5, 14, 1);
        expect_measured(&b, 10, 0, 14, 1);
        expect_measured(&b, 16, 1, 15, 1);
        teardown(&b);
    }
}

/* Where nobody passes the last stage, the screening decides. */
static void test_a_stage_that_nobody_passes(void **state) {
    (void)state;
    bench b;
    tt__search all, copy = {.best = TT__NOTHING};
    tt_result result = {0};
    setup(&b);
    b.backend.ticks = true;
    search(&b, &tt__no_limits, &all);
    b.backend.lost_at = 2;
    assert_ok(tt__elect(&b.s, &all, &copy, &result));
    assert_true(b.backend.n_stages >= 2);
    assert_true(result.time_us > 0);
    tt__search_close(&all);
    teardown(&b);
}

/* A stage that fails ends the finals: those before it stand, and who is left is elected. */
static void test_a_stage_that_fails(void **state) {
    (void)state;
    for (size_t fails_at = 1; fails_at <= 2; fails_at++) {
        bench b;
        tt__search all, copy = {.best = TT__NOTHING};
        tt_result result = {0};
        setup(&b);
        b.backend.ticks = true;
        search(&b, &tt__no_limits, &all);
        b.backend.fails_at = fails_at;
        assert_ok(tt__elect(&b.s, &all, &copy, &result));
        assert_int_equal(b.backend.n_stages, fails_at);
        assert_true(result.time_us > 0);
        tt__search_close(&all);
        teardown(&b);
    }
}

/* Without finals, and without samples even, the screening's medians decide. */
static void test_elects_without_samples(void **state) {
    (void)state;
    bench b;
    tt__search all, copy = {.best = TT__NOTHING};
    tt_result result = {0};
    setup(&b);
    b.backend.n_samples = 0;
    for (int known = 0; known < 2; known++) {
        b.backend.finals_known = known;
        search(&b, &tt__no_limits, &all);
        assert_ok(tt__elect(&b.s, &all, &copy, &result));
        assert_string_equal(result.config, "A=0 B=0");
        assert_true(result.time_us == 10);
        tt__search_close(&all);
    }
    teardown(&b);
}

/* What a recording lacks costs no trial. */
static void test_counts_what_there_is(void **state) {
    (void)state;
    bench b;
    tt__search some;
    setup(&b);
    b.backend.n_unrecorded = 4;
    b.s.strategy = &tt__strategy_exhaustive;
    search(&b, &(tt__limits){5, INFINITY, true, 0}, &some);
    assert_int_equal(some.n_skipped, 4);
    assert_int_equal(some.n_tried, 4 + 5);
    tt__search_close(&some);
    teardown(&b);
}

/* Where medians are the same tick of the clock, the mean of the middle half elects. */
static void test_elects_between_ticks(void **state) {
    (void)state;
    bench b;
    tt__search all, copy = {.best = TT__NOTHING};
    tt_result result = {0};
    setup(&b);
    b.backend.ticks = true;
    search(&b, &tt__no_limits, &all);
    assert_ok(tt__elect(&b.s, &all, &copy, &result));
    assert_string_equal(result.config, all.space.items[5].config);
    assert_int_equal(b.backend.n_stages, 3);
    assert_int_equal(b.backend.n_entered, SPACE + 11 + 6);
    tt__search_close(&all);
    teardown(&b);
}

/* A winner that a replay stored says nothing to a run that measures. */
static void test_a_replayed_winner_does_not_hold(void **state) {
    (void)state;
    bench b;
    tt__search all, copy = {.best = TT__NOTHING};
    tt_result result = {0};
    bool holds;
    setup(&b);
    search(&b, &tt__no_limits, &all);
    tt__search_close(&all);
    search(&b, &tt__no_limits, &all);
    assert_int_equal(all.n_measured, 0);
    for (int replayed = 0; replayed < 2; replayed++) {
        b.opts.replay = replayed ? "a recording" : NULL;
        begin_run(&b, replayed ? "replayed" : "measured");
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
    teardown(&b);
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
    assert_int_equal(asked, 1);
    assert_int_equal(report->n_results, 0);
    tt_report_free(&report);
    tt_close(&ctx);
}

/* A store in memory is the run's alone, but for who is told how it goes. */
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
        cmocka_unit_test(test_all_of_it_in_time),
        cmocka_unit_test(test_a_copy_in_little_time),
        cmocka_unit_test(test_goes_on_with_the_rest),
        cmocka_unit_test(test_effort_with_only),
        cmocka_unit_test(test_effort_with_a_new_template),
        cmocka_unit_test(test_a_stage_that_nobody_passes),
        cmocka_unit_test(test_a_stage_that_fails),
        cmocka_unit_test(test_elects_without_samples),
        cmocka_unit_test(test_elects_between_ticks),
        cmocka_unit_test(test_counts_what_there_is),
        cmocka_unit_test(test_a_replayed_winner_does_not_hold),
        cmocka_unit_test(test_a_replay_stops_when_asked),
        cmocka_unit_test(test_a_call_back_may_look_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
