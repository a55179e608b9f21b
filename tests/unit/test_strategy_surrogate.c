/*
 * What the default strategy names first: what needs no compile, what is near the best, each template once.
 */
#include "course_fixture.h"
#include "tuner/strategy/strategy.h"

enum { FAVOURITES = 38 };

/* The model has it for the slowest, and says the same of all configurations. */
static const char shunned[] = "kernel shunned\nop transpose\nparam A 1 2 4 8 16 32 64\nblock 32\n"
                              "grid rows * cols\nargs dst, src\ndefault A=8\n";

static void test_every_template_has_a_chance(void **state) {
    (void)state;
    enum { ACQUAINTED = 24, MOST = 60 };
    field f;
    course c;
    course_hills(&f, shunned);
    for (size_t i = 0; i < f.space.n; i++)
        if (f.space.items[i].t == f.t[1])
            field_set(&f, i, strcmp(f.space.items[i].config, "A=32") == 0 ? 10 : 40);
    for (uint64_t seed = 1; seed < 6; seed++) {
        size_t k = 0;
        course_play(&c, &f, &tt__strategy_surrogate, seed, 1, MOST);
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
    course_play(&c, &f, &tt__strategy_surrogate, 1, 1, SIZE_MAX);
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
    assert_ok(tt__space_cubins(&f.space, of));
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
    assert_ok(tt__space_cubins(&f.space, of));
    course_play(&c, &f, &tt__strategy_surrogate, 1, 1, TRIALS);
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
    course_play(&c, &f, &tt__strategy_surrogate, 1, 1, SIZE_MAX);
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

/* As for permutations of small elements: what READ and T do depends on each other, by a factor of two. The
 * model of transposes makes no such errors. From them, the process learns that it knows little, and looks
 * further. */
static void test_large_errors_are_believed(void **state) {
    (void)state;
    enum { TRIALS = 40, SEEDS = 10 };
    field f;
    course c;
    field_open(&f,
               "kernel even\nop transpose\nparam READ 1 2 3 4 5 6 7 8\nparam WRITE 1 2 3 4 5\nblock 256\n"
               "grid ceil_div(rows * cols, 256 * 16)\nargs dst, src\ndefault READ=4 WRITE=4\n",
               "kernel wild\nop transpose\nparam READ 1 2 3 4 5\nparam WRITE 1 2 3 4 5\nparam T 1 2 3\n"
               "param HOLD 0 1\nparam SPLIT 0 1\nblock 256\ngrid ceil_div(rows * cols, 256 * 16)\n"
               "args dst, src\ndefault READ=5 WRITE=3 T=1 HOLD=0 SPLIT=0\n");
    for (size_t i = 0; i < f.space.n; i++) {
        const int read = field_value(&f, i, "READ"), write = field_value(&f, i, "WRITE");
        const int t = field_value(&f, i, "T"), fits = t == 1 ? read == 5 : read < 5;
        const double wild = (t == 3   ? 31
                             : t == 2 ? (fits ? 22 : 60)
                             : fits   ? 36
                                      : 48) +
                            0.01 * write + (field_value(&f, i, "HOLD") ? 0 : 6) +
                            (field_value(&f, i, "SPLIT") ? 0 : 1);
        field_set(&f, i, f.space.items[i].t == f.t[1] ? wild : 25 + 2 * read + abs(write - 4));
    }
    for (size_t window = 1; window <= 4; window += 3)
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            memset(f.known, 0, f.space.n * sizeof *f.known);
            course_play(&c, &f, &tt__strategy_surrogate, seed, window, TRIALS);
            assert_in_range(c.to_goal, 1, TRIALS); /* it would be 69 at most */
        }
    field_close(&f);
}

/* How many of 90 trials are favourites, if the strategy knows of n. */
static size_t n_tried_of_favourites(field *f, size_t n) {
    enum { TRIALS = 90 };
    size_t n_order, *order, n_tried = 0;
    course c;
    memset(f->known, 0, f->space.n * sizeof *f->known);
    assert_ok(tt__strategy_rank(&order, &n_order, &f->space, f->known, f->view.model));
    f->view.n_favourites = n;
    course_play(&c, f, &tt__strategy_surrogate, 1, 1, TRIALS);
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
    course_hills(&f, NULL);
    for (size_t i = 0; i < f.space.n; i++)
        field_set(&f, i, 100 + (double)(i * 7919 % 31) / 10);
    const size_t without = n_tried_of_favourites(&f, 0), with = n_tried_of_favourites(&f, FAVOURITES);
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

/* The number of cubins that are neither named nor favourites'. */
static size_t n_uncovered(const field *f, const size_t *order) {
    size_t n = 0;
    for (size_t i = 0; i < f->space.n; i++) {
        bool is_covered = false;
        for (size_t k = 0; k < f->space.n; k++)
            is_covered |= (k < i || f->known[k] != TT__UNTRIED) && are_siblings(f, i, k);
        for (size_t k = 0; k < FAVOURITES; k++)
            is_covered |= are_siblings(f, i, order[k]);
        n += !is_covered;
    }
    return n;
}

/* Likely names: no compiled cubin, none of a favourite, each cubin once. Most configurations that are named
 * were listed as likely before. */
static void test_likely(void **state) {
    (void)state;
    enum { UNDER_WAY = 6, LIKELY = 8, TRIALS = 90 };
    const tt__strategy *s = &tt__strategy_surrogate;
    size_t out[LIKELY], n = 0, waiting[UNDER_WAY], n_waiting = 0, n_named = 0, n_new = 0, n_foretold = 0;
    size_t n_order, *order, all[1024];
    field f;
    void *self;
    open_orders(&f);
    assert_ok(tt__strategy_rank(&order, &n_order, &f.space, f.known, f.view.model));
    assert_true(n_order > 2 * FAVOURITES);
    for (size_t k = 0; k + 1 < FAVOURITES; k++) /* so that the last one counts */
        assert_false(are_siblings(&f, order[k], order[FAVOURITES - 1]));
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
        if (n_named == 2)
            assert_int_equal(s->likely(all, f.space.n, self, &f.view), n_uncovered(&f, order));
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_template_has_a_chance),
        cmocka_unit_test(test_siblings_of_the_best),
        cmocka_unit_test(test_cubins),
        cmocka_unit_test(test_compiles_less),
        cmocka_unit_test(test_neighbours_of_the_best),
        cmocka_unit_test(test_large_errors_are_believed),
        cmocka_unit_test(test_favourites_are_cheap),
        cmocka_unit_test(test_likely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
