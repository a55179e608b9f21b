/*
 * How many trials a search takes, on a backend with invented times: the effort, stored trials, new templates.
 */
#include <math.h>

#include "search_fixture.h"

/* So many trials in all are wanted; so many are measured for it, and of each template so
 * many are known then. */
static void expect_known(bench *b, size_t wanted, size_t measured, const size_t of[3]) {
    tt__search some;
    size_t known[3] = {0, 0, 0};
    tt__limits limits = {wanted, INFINITY, INFINITY, 0, 0, b->patience, 0};
    if (b->is_short) /* the fastest takes 10 us */
        limits = (tt__limits){wanted / 2, INFINITY, INFINITY, wanted, 0, b->patience, 0};
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
        b.patience = is_short; /* short ones do not end early */
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

/* With a cost model, a search ends after 5/8 of the trials, if nothing was gained for long. Without, it ends
 * after 3/4 to 3/2 of them. Each template is tried. Running it again measures nothing, unless a template is
 * new. */
static void test_patience(void **state) {
    static const struct {
        size_t patience, n;
        double us; /* the first takes 20 us, the second 1 us more than this; 0: the first is the fastest */
        bool plain, wrong;
        size_t fast_at, of[3];
    } cases[] = {
        {5, 1, .of = {10}},
        {12, 1, .of = {12}},
        {6, 1, .us = 10, .of = {12}},
        {12, 1, .us = 10, .of = {16}},
        {12, 1, .us = 18.95, .of = {12}}, /* this is no gain */
        {12, 1, .us = 18.85, .of = {16}},
        {5, 1, .plain = true, .of = {12}},
        {14, 1, .plain = true, .of = {14}},
        {9, 1, .us = 10, .plain = true, .of = {18}},
        {13, 2, .us = 10, .plain = true, .of = {20, 4}},
        {0, 1, .plain = true, .of = {16}},
        {5, 1, .wrong = true, .of = {16}}, /* nothing passed */
        {0, 1, .of = {16}},
        {5, 2, .of = {10, 1}},
        {5, 3, .of = {10, 1, 1}},
        {15, 3, .of = {14, 1, 1}},                  /* never more than all trials */
        {5, 3, .fast_at = SPACE, .of = {10, 1, 1}}, /* a gain after the end */
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
        if (n == 10) {
            b.set.n = 2;
            expect_measured(&b, 16, 8, 17, 1); /* this strategy does not name the new one */
            expect_measured(&b, 16, 0, 17, 1);
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

/* Trials that are set aside count neither towards the effort nor towards an early end. */
static void test_patience_with_new_templates(void **state) {
    static const char *const only[] = {"letters"};
    (void)state;
    bench b;
    bench_open(&b, true);
    bench_add_words(&b);
    b.s.strategy = &tt__strategy_exhaustive;
    b.backend.alike = true;
    b.patience = 2;
    b.opts.only = only;
    b.opts.n_only = 1;
    expect_known(&b, 6, 6, (size_t[]){0, 6, 0});
    b.opts.n_only = 0;
    expect_known(&b, 16, 7, (size_t[]){6, 6, 1}); /* 12, and one that the strategy does not name */
    expect_known(&b, 16, 0, (size_t[]){6, 6, 1});
    bench_close(&b);
}

static tt_status next_from_the_14th(int64_t *index, void *self, const tt__view *view) {
    (void)self;
    for (*index = 13; *index > 0 && view->known[*index] != TT__UNTRIED;)
        --*index;
    return TT_OK;
}

/* A forced run ends by its own trials. Those of earlier runs that it did not repeat do not reopen it. */
static void test_patience_of_a_forced_run(void **state) {
    (void)state;
    bench b;
    bench_open(&b, false);
    tt__strategy backwards = tt__strategy_exhaustive;
    backwards.next = next_from_the_14th;
    b.s.strategy = &tt__strategy_exhaustive;
    b.backend.room = 1;
    b.backend.alike = true;
    b.patience = 3;
    expect_measured(&b, 16, 10, 10, 0);
    b.opts.force = true;
    b.s.strategy = &backwards;
    b.backend.fast_at = 11; /* its third: with four earlier ones the seventh, so that 21 would be tried */
    expect_measured(&b, 16, 10, 10, 0);
    b.opts.force = false;
    expect_measured(&b, 16, 0, 14, 0);
    bench_close(&b);
}

/* A run that tries a new template aims at all trials. Stopped, it goes on there, although the earlier ones
 * had ended. */
static void test_patience_of_a_stopped_run(void **state) {
    (void)state;
    bench b;
    bench_open(&b, true);
    b.s.strategy = &tt__strategy_exhaustive;
    b.backend.room = 1;
    b.backend.alike = true;
    b.patience = 3;
    b.set.n = 1;
    expect_measured(&b, 16, 10, 10, 0);
    bench_begin_run(&b, "measured");
    b.set.n = 2;
    tt__search some;
    assert_ok(tt__search_open(&b.s, &b.f.problem, &(tt__limits){16, INFINITY, INFINITY, 0, 0, 3, 0}, &some));
    assert_ok(tt__search_try(&b.s, &some, SPACE));
    assert_ok(tt__search_try(&b.s, &some, SPACE + 1));
    tt__search_close(&some);
    bench_begin_run(&b, "measured");
    expect_measured(&b, 16, 4, 14, 2);
    expect_measured(&b, 16, 0, 14, 2);
    bench_close(&b);
}

/* A forced run of one template says nothing of the others. */
static void test_patience_of_a_forced_template(void **state) {
    static const char *const only[] = {"letters"};
    (void)state;
    bench b;
    bench_open(&b, true);
    b.s.strategy = &tt__strategy_exhaustive;
    b.backend.room = 1;
    b.backend.alike = true;
    b.patience = 3;
    tt__search some;
    assert_ok(tt__search_open(&b.s, &b.f.problem, &(tt__limits){16, INFINITY, INFINITY, 0, 0, 3, 0}, &some));
    for (size_t i = 0; i < 4; i++)
        assert_ok(tt__search_try(&b.s, &some, i)); /* of numbers */
    assert_ok(tt__search_try(&b.s, &some, SPACE));
    tt__search_close(&some);
    b.backend.us = 9; /* its first is a gain, and the fifth of all: 15 are tried */
    b.opts.only = only;
    b.opts.n_only = 1;
    b.opts.force = true;
    expect_measured(&b, 16, 10, 0, 10);
    b.opts.n_only = 0;
    b.opts.force = false;
    expect_measured(&b, 16, 1, 5, 10);
    bench_close(&b);
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

/* It had settled when the one trial of another template proved the problem short. */
static void test_effort_of_a_problem_that_gets_short(void **state) {
    (void)state;
    bench b;
    bench_open(&b, true);
    b.s.strategy = &tt__strategy_exhaustive;
    b.is_short = true;
    b.patience = 3;
    b.backend.room = 1;
    b.backend.alike = true;
    b.backend.us = 25;
    forget_model(&b);
    expect_measured(&b, 16, 7, 6, 1);
    b.opts.force = true;
    b.backend.fast_at = SPACE;
    expect_measured(&b, 16, 16, 15, 1);
    b.opts.force = false;
    expect_measured(&b, 16, 0, 15, 1);
    bench_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_effort_with_only),
        cmocka_unit_test(test_effort_with_a_new_template),
        cmocka_unit_test(test_patience),
        cmocka_unit_test(test_effort_of_three_templates),
        cmocka_unit_test(test_patience_with_new_templates),
        cmocka_unit_test(test_patience_of_a_forced_run),
        cmocka_unit_test(test_patience_of_a_stopped_run),
        cmocka_unit_test(test_patience_of_a_forced_template),
        cmocka_unit_test(test_half_is_the_strategys),
        cmocka_unit_test(test_effort_of_a_short_problem),
        cmocka_unit_test(test_effort_of_a_problem_that_gets_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
