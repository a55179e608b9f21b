/*
 * Every strategy on spaces with known times. It names untried configurations once, ends, finds a fast one,
 * learns from failures, and repeats itself with the same seed.
 */
#include <math.h>

#include "course_fixture.h"
#include "tuner/strategy/strategy.h"

static const char plain[] =
    "kernel plain\nop transpose\nparam A 1 2 4\nblock 128\ngrid rows\nargs dst, src\ndefault A=1\n";

static void test_names_each_once_and_ends(void **state) {
    (void)state;
    static const size_t windows[] = {1, 5, 32};
    field f;
    course c;
    course_hills(&f, plain);
    assert_true(f.space.n > 200 && f.space.n < 1024);
    for (size_t k = 0; tt__strategy_at(k); k++)
        for (size_t w = 0; w < 3; w++) {
            const tt__strategy *s = tt__strategy_at(k);
            course_play(&c, &f, s, 7, windows[w], SIZE_MAX);
            if (s == &tt__strategy_model)
                assert_in_range(c.n, 50, f.space.n - 1); /* leaves out what cannot win */
            else
                assert_int_equal(c.n, f.space.n);
            assert_true(c.to_goal > 0);
        }
    field_close(&f);
}

static void test_finds_what_is_fast(void **state) {
    (void)state;
    static const struct {
        const tt__strategy *strategy;
        size_t median;
    } expected[] = {{&tt__strategy_surrogate, 50}, {&tt__strategy_model, 70}};
    enum { SEEDS = 11 };
    field f;
    course c;
    course_hills(&f, plain);
    for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
        size_t in_time = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            course_play(&c, &f, expected[k].strategy, seed, 4, expected[k].median);
            in_time += c.to_goal > 0;
        }
        if (in_time <= SEEDS / 2)
            fail_msg("%s: %zu of %d seeds within %zu trials of %zu", expected[k].strategy->name, in_time,
                     SEEDS, expected[k].median, f.space.n);
    }
    field_close(&f);
}

static void test_a_seed_repeats_itself(void **state) {
    (void)state;
    field f;
    course a, b, other;
    course_hills(&f, NULL);
    for (size_t k = 0; tt__strategy_at(k); k++) {
        const tt__strategy *s = tt__strategy_at(k);
        course_play(&a, &f, s, 1, 8, 60);
        course_play(&b, &f, s, 1, 8, 60);
        course_play(&other, &f, s, 2, 8, 60);
        assert_memory_equal(a.tried, b.tried, a.n * sizeof *a.tried);
        if (s != &tt__strategy_exhaustive)
            assert_memory_not_equal(a.tried, other.tried, a.n * sizeof *a.tried);
    }
    field_close(&f);
}

static void test_starts_come_first(void **state) {
    (void)state;
    field f;
    course c;
    course_hills(&f, NULL);
    const size_t starts[] = {123, 45, 67};
    f.view.starts = starts;
    f.view.n_starts = 3;
    for (size_t k = 0; tt__strategy_at(k); k++) {
        const tt__strategy *s = tt__strategy_at(k);
        if (s == &tt__strategy_exhaustive || s == &tt__strategy_random)
            continue;
        course_play(&c, &f, s, 1, 1, 100);
        assert_int_equal(c.tried[0], 123);
        assert_memory_equal(c.tried, starts, 2 * sizeof *starts);
    }
    field_close(&f);
}

/* The rank has each untried configuration once. Equally fast ones have the order of the space. */
static void test_rank(void **state) {
    (void)state;
    field f;
    size_t *order, n, n_untried = 0, n_equal = 0;
    course_hills(&f, plain);
    for (size_t i = 0; i < f.space.n; i += 3)
        f.known[i] = i % 2 ? TT__TRIED : TT__PENDING;
    assert_ok(tt__strategy_rank(&order, &n, &f.space, f.known, f.view.model));
    for (size_t i = 0; i < f.space.n; i++)
        n_untried += f.known[i] == TT__UNTRIED;
    assert_int_equal(n, n_untried);
    for (size_t k = 0; k < n; k++) {
        assert_int_equal(f.known[order[k]], TT__UNTRIED);
        if (k == 0)
            continue;
        const double before = f.view.model->log_time[order[k - 1]], now = f.view.model->log_time[order[k]];
        assert_true(before < now || (before == now && order[k - 1] < order[k]));
        n_equal += before == now;
    }
    assert_true(n_equal > 0 && n_equal < n - 1);
    free(order);
    field_close(&f);
}

/* A whole template fails, and half of the other: no strategy that learns spends its trials there. */
static void test_failures_are_avoided(void **state) {
    (void)state;
    static const tt__strategy *const learners[] = {&tt__strategy_surrogate, &tt__strategy_model};
    field f;
    course c;
    course_hills(&f, plain);
    for (size_t i = 0; i < f.space.n; i++)
        if (f.space.items[i].t == f.t[1] || strstr(f.space.items[i].config, "plain"))
            field_set(&f, i, 0);
    for (size_t k = 0; k < sizeof learners / sizeof *learners; k++) {
        size_t failed = 0;
        course_play(&c, &f, learners[k], 3, 4, 100);
        for (size_t i = 0; i < c.n; i++)
            failed += f.trials[c.tried[i]].status != TT__TRIAL_OK;
        if (failed > 50)
            fail_msg("%s: %zu of %zu trials failed", learners[k]->name, failed, c.n);
    }
    field_close(&f);
}

static void test_nothing_works(void **state) {
    (void)state;
    field f;
    course c;
    course_hills(&f, plain);
    for (size_t i = 0; i < f.space.n; i++)
        field_set(&f, i, 0);
    for (size_t k = 0; tt__strategy_at(k); k++) {
        course_play(&c, &f, tt__strategy_at(k), 3, 8, SIZE_MAX);
        assert_int_equal(c.n, f.space.n);
    }
    field_close(&f);
}

static void test_a_space_of_one(void **state) {
    (void)state;
    field f;
    course c;
    field_open(&f, "kernel one\nop transpose\nparam A 1\nblock 32\ngrid rows\nargs dst, src\ndefault A=1\n",
               NULL);
    field_set(&f, 0, 10);
    for (size_t k = 0; tt__strategy_at(k); k++) {
        course_play(&c, &f, tt__strategy_at(k), 3, 8, SIZE_MAX);
        assert_int_equal(c.n, 1);
    }
    field_close(&f);
}

/* As many as compilers without a cost model; more and more with one. */
static void test_window(void **state) {
    (void)state;
    field f;
    course_hills(&f, NULL);
    const tt__strategy *s = &tt__strategy_surrogate;
    assert_int_equal(tt__strategy_window(&tt__strategy_random, &f.view, 100, 16), SIZE_MAX);
    assert_int_equal(tt__strategy_window(s, &f.view, 0, 16), s->window);
    assert_int_equal(tt__strategy_window(s, &f.view, 100, 16), s->window + 25);
    tt__operation own = *f.t[0]->operation;
    own.moves = false;
    f.t[0]->operation = &own;
    assert_int_equal(tt__strategy_window(s, &f.view, 100, 0), s->window);
    assert_int_equal(tt__strategy_window(s, &f.view, 100, 2), s->window);
    assert_int_equal(tt__strategy_window(s, &f.view, 0, 16), 16);
    field_close(&f);
}

static void test_find(void **state) {
    (void)state;
    const tt__strategy *s;
    for (size_t k = 0; tt__strategy_at(k); k++) {
        assert_ok(tt__strategy_find(&s, tt__strategy_at(k)->name));
        assert_ptr_equal(s, tt__strategy_at(k));
    }
    assert_int_equal(tt__strategy_find(&s, "oracle"), TT_E_INVALID);
    assert_non_null(strstr(tt_last_error(), "\"oracle\""));
    assert_non_null(strstr(tt_last_error(), "surrogate"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_each_once_and_ends),
        cmocka_unit_test(test_finds_what_is_fast),
        cmocka_unit_test(test_a_seed_repeats_itself),
        cmocka_unit_test(test_starts_come_first),
        cmocka_unit_test(test_failures_are_avoided),
        cmocka_unit_test(test_nothing_works),
        cmocka_unit_test(test_a_space_of_one),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
