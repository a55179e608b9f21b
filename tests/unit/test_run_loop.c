/*
 * The loop of a run on one device: the order in which problems and their copies come, and what a failure
 * leaves.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "search_fixture.h"
#include "tuner/run/run_loop.h"

enum { PROBLEMS = 2 };

typedef struct course {
    bench b;
    tt__problem problems[PROBLEMS];
    tt_result results[PROBLEMS];
} course;

/* Two sizes. Their copies move so many bytes. */
static void open_course(course *c, double first_bytes, double second_bytes) {
    memset(c, 0, sizeof *c);
    bench_open(&c->b, false);
    c->b.f.t[1] = field_template("kernel lines\nop copy\nblock 32\ngrid bytes\nargs dst, src\n");
    c->b.set.n = 2;
    for (int i = 0; i < PROBLEMS; i++)
        c->problems[i] = c->b.f.problem;
    c->problems[0].moved_bytes = first_bytes;
    c->problems[1].moved_bytes = second_bytes;
    tt__problem_set(&c->problems[1], "rows", 2 * tt__problem_number(&c->problems[0], "rows", 0));
    c->b.call.problems = c->problems;
    c->b.call.n = c->b.s.n_problems = PROBLEMS;
}

static void expect_opened(const course *c, const char *expected) {
    char opened[64] = "";
    for (size_t i = 0; i < c->b.backend.n_opened && i < OPENED_MAX; i++) {
        const tt__problem *p = &c->b.backend.opened[i];
        const bool copies = strcmp(p->op, "copy") == 0, second = p->moved_bytes == c->problems[1].moved_bytes;
        strcat(opened, copies ? "c" : "p");
        strcat(opened, second ? "2" : "1");
    }
    assert_string_equal(opened, expected);
}

/* The copies of the first two sizes come together, so that compilers have the first problem's kernels. With a
 * budget, each problem has its own time. */
static void test_order(void **state) {
    (void)state;
    for (int budget = 0; budget < 2; budget++) {
        course c;
        open_course(&c, 1 << 27, 1 << 28);
        if (budget)
            c.b.s.end_s = tt__now_s() + 1000;
        assert_ok(tt__run_loop(&c.b.s, NULL, c.results));
        expect_opened(&c, budget ? "c1p1c2p2" : "c1c2p1p2");
        for (int i = 0; i < PROBLEMS; i++)
            assert_string_equal(c.results[i].kernel, "numbers");
        assert_int_equal(c.b.s.n_ended, PROBLEMS);
        bench_close(&c.b);
    }
}

/* Two sizes that move as many bytes have one copy, whose trials the second takes over. */
static void test_shared_copy(void **state) {
    (void)state;
    course c;
    open_course(&c, 1 << 27, 1 << 27);
    assert_ok(tt__run_loop(&c.b.s, NULL, c.results));
    assert_int_equal(c.b.backend.n_opened, 2 * PROBLEMS);
    assert_string_equal(c.b.backend.opened[1].op, "transpose");
    assert_string_equal(c.results[1].kernel, "numbers");
    bench_close(&c.b);
}

/* If the second copy cannot be tried, the first problem still gets its winner. */
static void test_second_copy_fails(void **state) {
    (void)state;
    for (size_t nth = 1; nth <= 3; nth++) {
        course c;
        open_course(&c, 1 << 27, 1 << 28);
        c.b.backend.cannot_open = nth;
        tt_status status = tt__run_loop(&c.b.s, NULL, c.results);
        assert_int_equal(status, nth == 2 ? TT_OK : TT_E_NO_MEMORY);
        assert_int_equal(c.b.s.n_ended, nth == 2 ? PROBLEMS : 0);
        if (nth == 2)
            expect_opened(&c, "c1c2p1c2p2");
        bench_close(&c.b);
    }
}

static const tt__session *watched;
static double ends_s[PROBLEMS]; /* until when each problem's search last awaited trials */

static void await_until(tt__backend *b, double end_s) {
    (void)b;
    if (isfinite(end_s))
        ends_s[watched->at_problem] = end_s;
}

static const double budget_s = 1e6;

/* Trials take no time here, so that a problem takes what its end takes: a quarter of the budget. */
static tt_status take_long(void *user, tt__session *s, tt__search *copy, const tt__search *search,
                           const tt_result *winner) {
    (void)user, (void)copy, (void)search, (void)winner;
    s->end_s -= budget_s / 4;
    return TT_OK;
}

/* A problem gets the part of the rest of the budget that it is worth, from its turn on. */
static void test_shares_of_a_budget(void **state) {
    static const struct {
        double worth[PROBLEMS];
        double first; /* its part; the rest is the second's */
    } cases[] = {{{3, 1}, 0.75}, {{1, 3}, 0.25}, {{5, 5}, 0.5}, {{0}, 0.5} /* not known */};
    static const double noise_s = 1e3; /* however busy the machine */
    static const tt__expected nothing;
    (void)state;
    for (size_t i = 0; i < TT__COUNT(cases); i++) {
        course c;
        open_course(&c, 1 << 27, 1 << 28);
        tt__backend_ops ops = *c.b.backend.base.ops;
        ops.await_until = await_until;
        c.b.backend.base.ops = &ops;
        c.b.backend.expected = &nothing; /* problems are opened early, with configurations of the same names */
        c.b.call.worth = cases[i].worth[0] > 0 ? cases[i].worth : NULL;
        watched = &c.b.s;
        const double now_s = tt__now_s();
        c.b.s.end_s = now_s + budget_s;
        assert_ok(tt__run_loop(&c.b.s, &(tt__tune_question){take_long, NULL}, c.results));
        assert_true(fabs(ends_s[0] - now_s - cases[i].first * budget_s) < noise_s);
        assert_true(fabs(ends_s[1] - now_s - 0.75 * budget_s) < noise_s);
        bench_close(&c.b);
    }
}

static tt_status ask(void *user, tt__session *s, tt__search *copy, const tt__search *search,
                     const tt_result *winner) {
    int *n = user;
    (void)copy, (void)search;
    assert_int_equal(s->at_problem, *n);
    assert_string_equal(winner->kernel, "numbers");
    ++*n;
    return TT_OK;
}

static void test_asks_about_each(void **state) {
    (void)state;
    course c;
    int n = 0;
    open_course(&c, 1 << 27, 1 << 28);
    c.b.s.asks = true;
    assert_ok(tt__run_loop(&c.b.s, &(tt__tune_question){ask, &n}, c.results));
    assert_int_equal(n, PROBLEMS);
    bench_close(&c.b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_shared_copy),
        cmocka_unit_test(test_second_copy_fails),
        cmocka_unit_test(test_shares_of_a_budget),
        cmocka_unit_test(test_asks_about_each),
    };
    return cmocka_run_group_tests_name("driver", tests, NULL, NULL);
}
