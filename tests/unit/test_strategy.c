/*
 * Every strategy on spaces with known times. It names untried configurations once, ends, finds a fast one,
 * learns from failures, and repeats itself with the same seed.
 */
#include <math.h>

#include "space_fixture.h"

/* Names that the model knows nothing of. */
static const char hills[] =
    "kernel hills\nop transpose\n"
    "param A 1 2 4 8 16 32 64 128\nparam B 1 2 4 8 16 32 64 128\nparam C 0 1 2 3\n"
    "param MODE plain other\nwhere A * B BETWEEN 16 AND 1024\nblock 256\n"
    "grid ceil_div(rows * cols, 256 * 16)\nargs dst, src\ndefault A=4 B=4 C=0 MODE=plain\n";
static const char plain[] =
    "kernel plain\nop transpose\nparam A 1 2 4\nblock 128\ngrid rows\nargs dst, src\ndefault A=1\n";

static double hill(const field *f, size_t i) {
    double a = log2(field_value(f, i, "A")) - 5, b = log2(field_value(f, i, "B")) - 2;
    double c = field_value(f, i, "C") == 2 ? 0 : 0.1,
           mode = strstr(f->space.items[i].config, "other") ? 0 : 0.2;
    return 100 * exp(0.02 * a * a + 0.03 * b * b + 0.01 * fabs(a * b) + c + mode);
}

static void open_hills(field *f, const char *beside) {
    field_open(f, hills, beside);
    for (size_t i = 0; i < f->space.n; i++)
        field_set(f, i, f->space.items[i].t == f->t[0] ? hill(f, i) : 400);
}

typedef struct course {
    size_t n, tried[1024];
    size_t to_goal; /* trials until within 1 % of the best; 0: never */
} course;

/* Plays a search with `window` trials under way at once, for `most` trials. */
static void play(course *c, field *f, const tt__strategy *s, uint64_t seed, size_t window, size_t most) {
    size_t waiting[64], n_waiting = 0, n_named = 0;
    void *self;
    *c = (course){0};
    memset(f->known, 0, f->space.n * sizeof *f->known);
    assert_ok(s->open(&self, &f->view, seed));
    for (;;) {
        int64_t i = 0;
        while (n_waiting < window && n_named < most) {
            assert_ok(s->next(&i, self, &f->view));
            if (i == TT__NOTHING)
                break;
            assert_in_range(i, 0, f->space.n - 1);
            assert_int_equal(f->known[i], TT__UNTRIED);
            f->known[i] = TT__PENDING;
            waiting[n_waiting++] = (size_t)i;
            n_named++;
        }
        if (n_waiting == 0)
            break;
        size_t done = waiting[0];
        memmove(waiting, waiting + 1, --n_waiting * sizeof *waiting);
        f->known[done] = TT__TRIED;
        c->tried[c->n++] = done;
        if (!c->to_goal && f->trials[done].status == TT__TRIAL_OK &&
            f->trials[done].time_us <= f->best_us / 0.99)
            c->to_goal = c->n;
    }
    s->close(self);
}

static void test_names_each_once_and_ends(void **state) {
    (void)state;
    static const size_t windows[] = {1, 5, 32};
    field f;
    course c;
    open_hills(&f, plain);
    assert_true(f.space.n > 200 && f.space.n < 1024);
    for (size_t k = 0; tt__strategy_at(k); k++)
        for (size_t w = 0; w < 3; w++) {
            const tt__strategy *s = tt__strategy_at(k);
            play(&c, &f, s, 7, windows[w], SIZE_MAX);
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
    } expected[] = {{&tt__strategy_surrogate, 50},
                    {&tt__strategy_model, 70},
                    {&tt__strategy_local, 120},
                    {&tt__strategy_genetic, 120}};
    enum { SEEDS = 11 };
    field f;
    course c;
    open_hills(&f, plain);
    for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
        size_t in_time = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            play(&c, &f, expected[k].strategy, seed, 4, expected[k].median);
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
    open_hills(&f, NULL);
    for (size_t k = 0; tt__strategy_at(k); k++) {
        const tt__strategy *s = tt__strategy_at(k);
        play(&a, &f, s, 1, 8, 60);
        play(&b, &f, s, 1, 8, 60);
        play(&other, &f, s, 2, 8, 60);
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
    open_hills(&f, NULL);
    const size_t starts[] = {123, 45, 67};
    f.view.starts = starts;
    f.view.n_starts = 3;
    for (size_t k = 0; tt__strategy_at(k); k++) {
        const tt__strategy *s = tt__strategy_at(k);
        if (s == &tt__strategy_exhaustive || s == &tt__strategy_random)
            continue;
        play(&c, &f, s, 1, 1, 100);
        assert_int_equal(c.tried[0], 123);
        if (s != &tt__strategy_local) /* which first looks around the first */
            assert_memory_equal(c.tried, starts, 2 * sizeof *starts);
    }
    field_close(&f);
}

/* Differ in the order of blocks alone, which is an argument of the launch. */
/* The model has it for the slowest, and says the same of all configurations. */
static const char shunned[] = "kernel shunned\nop transpose\nparam A 1 2 4 8 16 32 64\nblock 32\n"
                              "grid rows * cols\nargs dst, src\ndefault A=8\n";

static void test_every_template_has_a_chance(void **state) {
    (void)state;
    enum { ACQUAINTED = 24, MOST = 60 };
    field f;
    course c;
    open_hills(&f, shunned);
    for (size_t i = 0; i < f.space.n; i++)
        if (f.space.items[i].t == f.t[1])
            field_set(&f, i, strcmp(f.space.items[i].config, "A=32") == 0 ? 10 : 40);
    for (uint64_t seed = 1; seed < 6; seed++) {
        size_t k = 0;
        play(&c, &f, &tt__strategy_surrogate, seed, 1, MOST);
        while (k < c.n && f.space.items[c.tried[k]].t != f.t[1])
            k++;
        assert_in_range(k, ACQUAINTED, ACQUAINTED + 1); /* no sooner: what leads comes first */
        assert_string_equal(f.space.items[c.tried[k]].config, "A=8");
        assert_in_range(c.to_goal, ACQUAINTED + 1, ACQUAINTED + 8);
    }
    field_close(&f);
}

static bool are_siblings(const field *f, size_t a, size_t b) {
    return field_value(f, a, "A") == field_value(f, b, "A") &&
           field_value(f, a, "B") == field_value(f, b, "B");
}

/* Once the best is known to be good, what shares its cubin comes next. */
static void test_siblings_of_the_best(void **state) {
    (void)state;
    enum { FROM = 8 }; /* before, the model alone decides */
    field f;
    course c;
    size_t n_siblings = 0;
    field_open(&f,
               "kernel orders\nop transpose\nparam A 1 2 4 8 16 32\nparam B 1 2 4 8\nruntime ORDER 0 1 2\n"
               "block 256\ngrid ceil_div(rows * cols, 256 * 16)\nargs dst, src, i32 ORDER\ndefault A=4 B=4 "
               "ORDER=0\n",
               NULL);
    for (size_t i = 0; i < f.space.n; i++)
        field_set(&f, i,
                  100 + abs(field_value(&f, i, "A") - 9) + field_value(&f, i, "B") +
                      5.0 * field_value(&f, i, "ORDER"));
    play(&c, &f, &tt__strategy_surrogate, 1, 1, SIZE_MAX);
    bool *known = calloc(f.space.n, sizeof *known);
    assert_non_null(known);
    for (size_t k = 0, best = c.tried[0]; k < c.n; k++) {
        bool has = false;
        for (size_t i = 0; i < f.space.n; i++)
            has |= !known[i] && are_siblings(&f, best, i);
        if (k >= FROM && has) {
            assert_true(are_siblings(&f, best, c.tried[k]));
            n_siblings++;
        }
        known[c.tried[k]] = true;
        if (f.trials[c.tried[k]].time_us < f.trials[best].time_us)
            best = c.tried[k];
    }
    assert_true(n_siblings > 0);
    free(known);
    field_close(&f);
}

/* A space of 64 cubins with three orders each. The times of the orders hardly differ. */
static void open_orders(field *f) {
    field_open(f,
               "kernel orders\nop transpose\nparam A 1 2 4 8 16 32 64 128\nparam B 1 2 3 4 5 6 7 8\n"
               "runtime ORDER 0 1 2\nblock 256\ngrid ceil_div(rows * cols, 256 * 16)\n"
               "args dst, src, i32 ORDER\ndefault A=4 B=4 ORDER=0\n",
               NULL);
    for (size_t i = 0; i < f->space.n; i++)
        field_set(f, i, 100 + (double)(i * 7919 % 31) / 10);
}

/* Configurations share a cubin exactly if they differ in block order only. */
static void test_cubins(void **state) {
    (void)state;
    field f;
    open_orders(&f);
    size_t *of = calloc(f.space.n, sizeof *of);
    assert_non_null(of);
    assert_ok(tt__points_cubins(f.view.points, of));
    for (size_t i = 0; i < f.space.n; i++)
        for (size_t k = 0; k < f.space.n; k++)
            assert_int_equal(of[i] == of[k], are_siblings(&f, i, k));
    free(of);
    field_close(&f);
}

/* After 48 trials, a configuration that needs a compile must promise more than one that does not. */
static void test_compiles_less(void **state) {
    (void)state;
    enum { FREE_UNTIL = 48, TRIALS = 96 };
    field f;
    course c;
    size_t n[2] = {0};
    open_orders(&f);
    size_t *of = calloc(f.space.n, sizeof *of);
    bool *built = calloc(f.space.n, sizeof *built);
    assert_true(of && built);
    assert_ok(tt__points_cubins(f.view.points, of));
    play(&c, &f, &tt__strategy_surrogate, 1, 1, TRIALS);
    for (size_t k = 0; k < c.n; k++) {
        n[k >= FREE_UNTIL] += !built[of[c.tried[k]]];
        built[of[c.tried[k]]] = true;
    }
    assert_in_range(n[0], FREE_UNTIL / 2, FREE_UNTIL);
    assert_in_range(n[1], 1, (TRIALS - FREE_UNTIL) / 5); /* it would be a third of them */
    free(of);
    free(built);
    field_close(&f);
}

static int differences(const field *f, size_t a, size_t b) {
    static const char *const names[] = {"A", "B", "ORDER"};
    int n = 0;
    for (int k = 0; k < 3; k++)
        n += field_value(f, a, names[k]) != field_value(f, b, names[k]);
    return n;
}

/* After 96 trials, what differs from the best in one parameter comes next. */
static void test_neighbours_of_the_best(void **state) {
    (void)state;
    enum { FROM = 96 };
    field f;
    course c;
    size_t n = 0;
    open_orders(&f);
    play(&c, &f, &tt__strategy_surrogate, 1, 1, SIZE_MAX);
    assert_int_equal(c.n, f.space.n);
    for (size_t k = 1, best = c.tried[0]; k < c.n; k++) {
        bool has = false;
        for (size_t i = k; i < c.n; i++)
            has |= differences(&f, best, c.tried[i]) == 1;
        if (k >= FROM && has) {
            assert_int_equal(differences(&f, best, c.tried[k]), 1);
            n++;
        }
        const double us = f.trials[c.tried[k]].time_us, best_us = f.trials[best].time_us;
        if (us < best_us || (us <= best_us && c.tried[k] < best))
            best = c.tried[k];
    }
    assert_true(n > 0);
    field_close(&f);
}

/* The rank has each untried configuration once. Equally fast ones have the order of the space. */
static void test_rank(void **state) {
    (void)state;
    field f;
    size_t *order, n, n_untried = 0, n_equal = 0;
    open_hills(&f, plain);
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

/* How many of 90 trials are favourites, if the strategy knows of n. */
static size_t n_tried_of_favourites(field *f, size_t n) {
    enum { FAVOURITES = 40, TRIALS = 90 };
    size_t n_order, *order, n_tried = 0;
    course c;
    memset(f->known, 0, f->space.n * sizeof *f->known);
    assert_ok(tt__strategy_rank(&order, &n_order, &f->space, f->known, f->view.model));
    f->view.n_favourites = n;
    play(&c, f, &tt__strategy_surrogate, 1, 1, TRIALS);
    for (size_t i = 0; i < c.n; i++)
        for (size_t k = 0; k < FAVOURITES; k++)
            if (c.tried[i] == order[k]) {
                n_tried++;
                break;
            }
    free(order);
    return n_tried;
}

/* From 48 trials on, what was compiled ahead is cheaper than the rest. */
static void test_favourites_are_cheap(void **state) {
    (void)state;
    field f;
    open_hills(&f, plain);
    for (size_t i = 0; i < f.space.n; i++)
        field_set(&f, i, 100 + (double)(i * 7919 % 31) / 10);
    const size_t without = n_tried_of_favourites(&f, 0), with = n_tried_of_favourites(&f, 40);
    assert_true(with > 2 * without);
    field_close(&f);
}

/* No cubin of theirs was requested, and no two share one. */
static void expect_uncovered(const field *f, const size_t *out, size_t n) {
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < f->space.n; i++)
            assert_false(f->known[i] != TT__UNTRIED && are_siblings(f, out[k], i));
        for (size_t i = 0; i < k; i++)
            assert_false(are_siblings(f, out[k], out[i]));
    }
}

/* Likely names: no compiled cubin, none of a favourite, each cubin once. Most configurations that are named
 * were listed as likely before. */
static void test_likely(void **state) {
    (void)state;
    enum { UNDER_WAY = 6, LIKELY = 8, TRIALS = 90, FAVOURITES = 40 };
    const tt__strategy *s = &tt__strategy_surrogate;
    size_t out[LIKELY], n = 0, waiting[UNDER_WAY], n_waiting = 0, n_named = 0, n_new = 0, n_foretold = 0;
    size_t n_order, *order;
    field f;
    void *self;
    open_orders(&f);
    assert_ok(tt__strategy_rank(&order, &n_order, &f.space, f.known, f.view.model));
    assert_true(n_order > 2 * FAVOURITES);
    f.view.n_favourites = FAVOURITES;
    for (size_t i = 0; i < f.space.n; i++)
        field_set(&f, i, 100 + abs(field_value(&f, i, "A") - 9) + 3.0 * field_value(&f, i, "B"));
    assert_ok(s->open(&self, &f.view, 1));
    assert_int_equal(s->likely(out, LIKELY, self, &f.view), 0); /* nothing has been compared */
    while (n_named < TRIALS) {
        int64_t i;
        assert_ok(s->next(&i, self, &f.view));
        bool is_new = true, is_foretold = false;
        for (size_t k = 0; k < f.space.n; k++)
            is_new &= f.known[k] == TT__UNTRIED || !are_siblings(&f, (size_t)i, k);
        for (size_t k = 0; k < n; k++)
            is_foretold |= are_siblings(&f, (size_t)i, out[k]);
        n_new += is_new && n_named > 0;
        n_foretold += is_new && is_foretold;
        f.known[i] = TT__PENDING;
        waiting[n_waiting++] = (size_t)i;
        n_named++;
        n = s->likely(out, LIKELY, self, &f.view);
        assert_int_equal(s->likely(out, 1, self, &f.view), n > 0);
        assert_int_equal(s->likely(out, LIKELY, self, &f.view), n);
        expect_uncovered(&f, out, n);
        for (size_t k = 0; k < n * FAVOURITES; k++)
            assert_false(are_siblings(&f, out[k / FAVOURITES], order[k % FAVOURITES]));
        if (n_waiting == UNDER_WAY) {
            f.known[waiting[0]] = TT__TRIED;
            memmove(waiting, waiting + 1, --n_waiting * sizeof *waiting);
        }
    }
    s->close(self);
    assert_in_range(n_new, 10, 63);
    assert_in_range(n_foretold, (n_new + 1) / 2, n_new);
    free(order);
    field_close(&f);
}

/* A whole template fails, and half of the other: no strategy that learns spends its trials there. */
static void test_failures_are_avoided(void **state) {
    (void)state;
    static const tt__strategy *const learners[] = {&tt__strategy_surrogate, &tt__strategy_model,
                                                   &tt__strategy_genetic, &tt__strategy_local};
    field f;
    course c;
    open_hills(&f, plain);
    for (size_t i = 0; i < f.space.n; i++)
        if (f.space.items[i].t == f.t[1] || strstr(f.space.items[i].config, "plain"))
            field_set(&f, i, 0);
    for (size_t k = 0; k < sizeof learners / sizeof *learners; k++) {
        size_t failed = 0;
        play(&c, &f, learners[k], 3, 4, 100);
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
    open_hills(&f, plain);
    for (size_t i = 0; i < f.space.n; i++)
        field_set(&f, i, 0);
    for (size_t k = 0; tt__strategy_at(k); k++) {
        play(&c, &f, tt__strategy_at(k), 3, 8, SIZE_MAX);
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
        play(&c, &f, tt__strategy_at(k), 3, 8, SIZE_MAX);
        assert_int_equal(c.n, 1);
    }
    field_close(&f);
}

/* As many as compilers without a cost model; more and more with one. */
static void test_window(void **state) {
    (void)state;
    field f;
    open_hills(&f, NULL);
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
        cmocka_unit_test(test_every_template_has_a_chance),
        cmocka_unit_test(test_siblings_of_the_best),
        cmocka_unit_test(test_cubins),
        cmocka_unit_test(test_compiles_less),
        cmocka_unit_test(test_neighbours_of_the_best),
        cmocka_unit_test(test_rank),
        cmocka_unit_test(test_favourites_are_cheap),
        cmocka_unit_test(test_likely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
