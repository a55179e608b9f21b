/*
 * Compiling ahead: before a search begins, and while its trials are in flight.
 */
#include <math.h>

#include "base/clock.h"
#include "search_fixture.h"
#include "tuner/strategy/strategy.h"

/* Known configurations are not compiled for the sake of others. */
static void test_goes_on_with_the_rest(void **state) {
    (void)state;
    bench b;
    tt__search some;
    bench_open(&b, false);
    bench_search(&b, &(tt__limits){5, INFINITY, INFINITY, 0, 0, 0, 0}, &some);
    assert_int_equal(some.n_tried, 5);
    assert_int_equal(bench_expected(&b), 5);
    tt__search_close(&some);
    tt__expected_forget(&b.expected);
    bench_search(&b, &(tt__limits){8, INFINITY, INFINITY, 0, 0, 0, 0}, &some);
    assert_int_equal(some.n_tried, 8);
    assert_int_equal(some.n_measured, 3);
    assert_int_equal(bench_expected(&b), 3);
    tt__search_close(&some);
    tt__expected_forget(&b.expected);
    bench_search(&b, &(tt__limits){8, INFINITY, INFINITY, 0, 0, 0, 0}, &some);
    assert_int_equal(bench_expected(&b), 0);
    tt__search_close(&some);
    bench_close(&b);
}

/* A space hardly larger than the effort is tried whole, in its order. In a larger one, or where the search
 * may end early, the fastest by the model come first. */
static void test_small_spaces(void **state) {
    static const char *const only[] = {"letters"};
    static const struct {
        size_t trials, whole, patience, tried;
    } cases[] = {
        {5, SPACE - 1, 0, 5},     {5, SPACE, 0, SPACE},
        {5, SPACE + 1, 0, SPACE}, {SPACE, SPACE, 1, SPACE - SPACE / 8 * 3},
        {2 * SPACE, 0, 1, SPACE},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        bench b;
        tt__search some;
        bench_open(&b, true);
        b.opts.only = only;
        b.opts.n_only = 1;
        b.backend.alike = true;
        bench_search(
            &b, &(tt__limits){cases[k].trials, INFINITY, INFINITY, 0, cases[k].whole, cases[k].patience, 0},
            &some);
        assert_int_equal(some.space.n, SPACE);
        assert_int_equal(some.n_tried, cases[k].tried);
        for (size_t i = 0; i < 5; i++)
            if (cases[k].tried < SPACE)
                assert_non_null(strstr(bench_expected_config(&b, i), "STREAM=0"));
            else
                assert_string_equal(bench_expected_config(&b, i), some.space.items[i].config);
        tt__search_close(&some);
        bench_close(&b);
    }
}

/* While trials are under way the strategy says what it leans towards, as long as it has some left to name. */
static void test_expects_next(void **state) {
    (void)state;
    enum { TRIALS = 30 };
    bench b;
    tt__search some;
    bench_open(&b, true);
    b.backend.wanted = TRIALS;
    bench_search(&b, &(tt__limits){TRIALS, INFINITY, INFINITY, 0, 0, 0, 0}, &some);
    assert_int_equal(some.n_tried, TRIALS);
    assert_int_equal(b.backend.most_soon, 8);
    assert_int_equal(b.expected.soon.n, 0);
    tt__search_close(&some);
    bench_close(&b);
}

static size_t first_untried(size_t *out, size_t most, void *self, const tt__view *view) {
    size_t n = 0;
    (void)self;
    for (size_t i = 0; i < view->space->n && n < most; i++)
        if (view->known[i] == TT__UNTRIED)
            out[n++] = i;
    return n;
}

/* The trial reserved for a template that the strategy never names is not available to the strategy. */
static void test_expects_next_what_is_not_kept(void **state) {
    (void)state;
    enum { TRIALS = 9 };
    bench b;
    tt__search some;
    tt__strategy in_order = tt__strategy_exhaustive;
    in_order.likely = first_untried;
    bench_open(&b, true);
    b.s.strategy = &in_order;
    b.backend.wanted = TRIALS;
    b.backend.kept = 1;
    bench_search(&b, &(tt__limits){TRIALS, INFINITY, INFINITY, 0, 0, 0, 0}, &some);
    assert_int_equal(some.n_tried, TRIALS);
    assert_int_equal(b.backend.most_soon, 0);
    tt__search_close(&some);
    bench_close(&b);
}

/* The default of the model's leading template comes after the fastest by the model, because the finals need
 * it. Arrays are prepared only if something is tried. */
static void test_expects_the_default(void **state) {
    static const char *const only[] = {"letters"};
    (void)state;
    bench b;
    tt__search some;
    bench_open(&b, true);
    b.opts.only = only;
    b.opts.n_only = 1;
    assert_ok(tt__search_open(&b.s, &b.f.problem, &(tt__limits){5, INFINITY, INFINITY, 0, 0, 0, 0}, &some));
    assert_ok(tt__with_copy_expect(&b.s, &some));
    assert_int_equal(bench_expected(&b), 5 + 1);
    assert_string_equal(bench_expected_config(&b, 5), "C=5 STREAM=1");
    assert_int_equal(tt__space_default(&some.space, SPACE - 1), 0);
    assert_int_equal(b.backend.n_prepared, 0);
    for (int again = 0; again < 2; again++) {
        assert_ok(tt__search_run(&b.s, &some, "search"));
        assert_int_equal(some.n_tried, 5);
        assert_int_equal(b.backend.n_prepared, 1);
    }
    tt__search_close(&some);
    bench_close(&b);
}

static size_t place(const tt__search *search, const char *config) {
    size_t i = 0;
    while (strcmp(search->space.items[i].config, config) != 0)
        i++;
    return i;
}

/* The fastest by the model are expected first, without known ones. If everything is wanted and there is time,
 * all are expected in the order of the space. */
static void test_expects(void **state) {
    static const char *const only[] = {"letters"};
    static const struct {
        size_t trials;
        double in_s;
        bool by_model;
    } cases[] = {{9, INFINITY, true}, {SIZE_MAX, 100, true}, {SIZE_MAX, INFINITY, false}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        bench b;
        tt__search some;
        bench_open(&b, true);
        b.opts.only = only;
        b.opts.n_only = 1;
        tt__limits limits = {cases[k].trials, tt__now_s() + cases[k].in_s, INFINITY, 0, 0, 0, 0};
        assert_ok(tt__search_open(&b.s, &b.f.problem, &limits, &some));
        for (size_t i = 0; i < 4; i++)
            assert_ok(tt__search_try(&b.s, &some, i));
        assert_ok(tt__with_copy_expect(&b.s, &some));
        size_t expected = cases[k].trials < SPACE ? cases[k].trials - 4 : SPACE - 4;
        assert_int_equal(bench_expected(&b), expected);
        for (size_t i = 0; i < expected; i++)
            assert_int_equal(some.known[place(&some, bench_expected_config(&b, i))], TT__UNTRIED);
        for (size_t i = 0; i < 5; i++)
            if (cases[k].by_model)
                assert_non_null(strstr(bench_expected_config(&b, i), "STREAM=0"));
            else
                assert_string_equal(bench_expected_config(&b, i), some.space.items[4 + i].config);
        tt__search_close(&some);
        bench_close(&b);
    }
}

/* With a cost model and the default strategy, 40 are expected at most, and the default of the model's leading
 * template. At random nothing is. Otherwise as many as there are trials. */
static void test_expects_favourites(void **state) {
    static const struct {
        size_t trials;
        const tt__strategy *strategy;
        size_t favourites;
    } cases[] = {{36, NULL, 36},
                 {50, NULL, 40},
                 {50, &tt__strategy_surrogate, 40},
                 {50, &tt__strategy_random, 0},
                 {SIZE_MAX, NULL, 0}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        bench b;
        tt__search some;
        bench_open(&b, true);
        bench_add_words(&b);
        b.s.strategy = cases[k].strategy;
        assert_ok(tt__search_open(&b.s, &b.f.problem,
                                  &(tt__limits){cases[k].trials, INFINITY, INFINITY, 0, 0, 0, 0}, &some));
        assert_int_equal(some.n_favourites, 0);
        some.n_favourites = tt__with_copy_favourites(&b.s, &some);
        tt__operation unmodelled = *some.t->operation;
        tt__template of_it = *some.t;
        unmodelled.moves = false;
        of_it.operation = &unmodelled;
        tt__search other = some;
        other.t = &of_it;
        assert_int_equal(tt__with_copy_favourites(&b.s, &other), 0);
        assert_int_equal(some.n_favourites, cases[k].favourites);
        assert_ok(tt__with_copy_expect(&b.s, &some));
        assert_true(some.space.n > 50);
        const size_t trials = cases[k].trials < some.space.n ? cases[k].trials : some.space.n;
        const bool is_random = cases[k].strategy == &tt__strategy_random;
        const size_t all = is_random ? 0 : cases[k].favourites ? cases[k].favourites : trials;
        assert_in_range(bench_expected(&b), all, is_random ? 0 : all + 1);
        tt__search_close(&some);
        bench_close(&b);
    }
}

static size_t favourites_seen(size_t *out, size_t most, void *self, const tt__view *view) {
    (void)out;
    (void)most;
    (void)self;
    assert_int_equal(view->n_favourites, 7);
    return 0;
}

/* The strategy knows how many were compiled ahead. */
static void test_tells_of_favourites(void **state) {
    (void)state;
    bench b;
    tt__search some;
    tt__strategy in_order = tt__strategy_exhaustive;
    in_order.likely = favourites_seen;
    bench_open(&b, true);
    b.s.strategy = &in_order;
    assert_ok(tt__search_open(&b.s, &b.f.problem, &(tt__limits){9, INFINITY, INFINITY, 0, 0, 0, 0}, &some));
    some.n_favourites = 7;
    assert_ok(tt__search_run(&b.s, &some, "search"));
    assert_int_equal(some.n_tried, 9);
    tt__search_close(&some);
    bench_close(&b);
}

/* An unrequested configuration may hang, so one compiler in eight stays free for requests. */
static void test_keeps_compilers_free(void **state) {
    (void)state;
    assert_int_equal(tt__expected_compilers(1), 0);
    assert_int_equal(tt__expected_compilers(2), 1);
    assert_int_equal(tt__expected_compilers(8), 7);
    assert_int_equal(tt__expected_compilers(9), 7);
    assert_int_equal(tt__expected_compilers(16), 14);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goes_on_with_the_rest),
        cmocka_unit_test(test_small_spaces),
        cmocka_unit_test(test_expects_next),
        cmocka_unit_test(test_expects_next_what_is_not_kept),
        cmocka_unit_test(test_expects),
        cmocka_unit_test(test_expects_the_default),
        cmocka_unit_test(test_expects_favourites),
        cmocka_unit_test(test_tells_of_favourites),
        cmocka_unit_test(test_keeps_compilers_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
