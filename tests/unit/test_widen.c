/*
 * Members that are added to a space while it is searched.
 */
#include <math.h>

#include "kernel/load/builtin.h"
#include "kernel/space/space.h"
#include "search_fixture.h"

/* A new one comes to those of its template, what is there is not added, and trials stay with theirs. The
 * weight of the new one is a multiple of the default's. */
static void test_inserts(void **state) {
    (void)state;
    enum { MISSING = 5, BEST = 25 };
    bench b;
    tt__search all;
    tt__space found = {0};
    bench_open(&b, true);
    assert_ok(tt__search_open(&b.s, &b.f.problem, &tt__no_limits, &all));
    tt__configuration missing = all.space.items[MISSING], best = all.space.items[BEST];
    memmove(&all.space.items[MISSING], &all.space.items[MISSING + 1],
            (all.space.n - MISSING - 1) * sizeof missing);
    all.space.n--;
    assert_ok(tt__search_try(&b.s, &all, BEST - 1));
    assert_int_equal(all.best, BEST - 1);
    all.default_weight = 0.5;
    const tt__configuration *some[] = {&best, &missing, &missing};
    for (size_t i = 0; i < 3; i++)
        assert_ok(tt__space_append(&found, some[i]));
    assert_ok(tt__search_insert(&all, &found));
    assert_int_equal(all.space.n, SPACE_OF_BOTH);
    assert_string_equal(all.space.items[SPACE - 1].config, missing.config);
    assert_true(all.space.items[SPACE - 1].weight == 2 * missing.weight);
    assert_string_equal(all.space.items[BEST].config, best.config);
    assert_int_equal(all.best, BEST);
    for (size_t i = 0; i < all.space.n; i++)
        assert_int_equal(all.known[i], i == BEST ? TT__TRIED : TT__UNTRIED);
    tt__space_free(&found);
    tt__search_close(&all);
    bench_close(&b);
}

/* So many combinations that they are sampled before they are listed. */
static const char vast[] = "kernel vast\nop transpose\nparam A 0 1 2 3 4 5 6 7\nparam B 0 1 2 3 4 5 6 7\n"
                           "param C 0 1 2 3 4 5 6 7\nparam D 0 1 2 3 4 5 6 7\nparam E 0 1 2 3 4 5 6 7\n"
                           "param F 0 1 2 3 4 5 6 7 8\nblock 32\ngrid rows\nargs dst, src\n"
                           "default A=0 B=0 C=0 D=0 E=0 F=0\n";
static const char stored[] = "A=1 B=2 C=3 D=4 E=5 F=6";

/* Leaves what was tried, and the first ones. */
static void shrink(tt__search *s, size_t n_first) {
    size_t kept = 0;
    for (size_t i = 0; i < s->space.n; i++)
        if (s->known[i] == TT__TRIED || i < n_first) {
            s->space.items[kept] = s->space.items[i];
            s->trials[kept] = s->trials[i];
            s->best = s->best == (int64_t)i ? (int64_t)kept : s->best;
            s->known[kept++] = s->known[i];
        }
    s->space.n = kept;
}

/* A sample smaller than the effort is not all there is: when it is tried, it gets neighbours. A later run
 * with more trials goes on. The limit for small spaces is not for small samples. */
static void test_a_small_sample_is_widened(void **state) {
    (void)state;
    enum { SAMPLE = 40, FEW = SAMPLE + 8, MORE = 3 * SAMPLE, WHOLE = 2 * MORE };
    bench b;
    tt__search some;
    bench_open(&b, false);
    b.f.t[2] = field_template(vast);
    b.set = (tt__template_set){1, &b.f.t[2]};
    b.s.expected = NULL; /* the fixture looks at candidates, which widening moves */
    for (size_t trials = FEW; trials <= MORE; trials += MORE - FEW) {
        const tt__limits limits = {.trials = trials, .deadline_s = INFINITY, .whole = WHOLE};
        assert_ok(tt__search_open(&b.s, &b.f.problem, &limits, &some));
        assert_true(some.space.sampled);
        shrink(&some, SAMPLE);
        assert_true(some.space.n < trials);
        assert_false(tt__search_wants_all(&b.s, &some));
        assert_ok(tt__search_run(&b.s, &some, "search"));
        assert_int_equal(some.n_tried, trials);
        tt__search_close(&some);
    }
    bench_close(&b);
}

/* The space has all that was measured, although the sample lacks it. So a forced run, too, competes with the
 * stored winner. */
static void test_a_sample_has_what_is_stored(void **state) {
    (void)state;
    bench b;
    tt__search some;
    bench_open(&b, false);
    b.f.t[2] = field_template(vast);
    b.set = (tt__template_set){1, &b.f.t[2]};
    for (int k = 0; k < 3; k++) { /* nothing is stored; a trial is; forced */
        b.opts.force = k == 2;
        if (k == 2)
            bench_begin_run(&b, "measured");
        assert_ok(tt__search_open(&b.s, &b.f.problem, &tt__no_limits, &some));
        assert_true(some.space.sampled);
        int64_t at = tt__space_member(&some.space, "vast", stored);
        assert_int_equal(at != TT__NOTHING, k > 0);
        if (k > 0)
            assert_int_equal(some.known[at], k == 1 ? TT__TRIED : TT__UNTRIED);
        if (k == 0) {
            tt__candidate c;
            tt__trial trial = {.time_us = 1};
            assert_ok(tt__space_resolve(&c, b.f.t[2], &b.s.gpu, &b.f.problem, stored));
            assert_ok(tt__session_store(&b.s, some.problem_id, &c.configuration, TT__STAGE_SCREEN, &trial));
        }
        tt__search_close(&some);
    }
    bench_close(&b);
}

/* Shards do not try each other's timeouts again, however long the limit is now. */
static void test_a_timeout_is_in_no_other_part(void **state) {
    (void)state;
    bench b;
    tt__search some;
    tt__candidate c;
    const tt__trial trial = {.status = TT__TRIAL_TIMEOUT, .limit_s = 1};
    bench_open(&b, false);
    b.f.t[2] = field_template(vast);
    b.set = (tt__template_set){1, &b.f.t[2]};
    b.s.trial_timeout_s = 10;
    assert_ok(tt__search_open(&b.s, &b.f.problem, &tt__no_limits, &some));
    assert_ok(tt__space_resolve(&c, b.f.t[2], &b.s.gpu, &b.f.problem, stored));
    assert_ok(tt__session_store(&b.s, some.problem_id, &c.configuration, TT__STAGE_SCREEN, &trial));
    tt__search_close(&some);
    for (int k = 0; k < 3; k++) { /* the whole, and two parts */
        b.call.part = (tt__space_part){k ? k - 1 : 0, k ? 2 : 0};
        assert_ok(tt__search_open(&b.s, &b.f.problem, &tt__no_limits, &some));
        int64_t at = tt__space_member(&some.space, "vast", stored);
        assert_int_equal(at == TT__NOTHING, k > 0);
        if (k == 0)
            assert_int_equal(some.known[at], TT__UNTRIED);
        tt__search_close(&some);
    }
    int n_parts = 0; /* with --force, one of the parts measures it again */
    b.opts.force = 1;
    for (int k = 0; k < 2; k++) {
        b.call.part = (tt__space_part){k, 2};
        assert_ok(tt__search_open(&b.s, &b.f.problem, &tt__no_limits, &some));
        n_parts += tt__space_member(&some.space, "vast", stored) != TT__NOTHING;
        tt__search_close(&some);
    }
    assert_int_equal(n_parts, 1);
    bench_close(&b);
}

/* After an update of the driver no trial counts. The stored winner competes all the same. */
static void test_a_sample_has_the_winner(void **state) {
    (void)state;
    bench b;
    tt__search some;
    tt__candidate c;
    int64_t id;
    bench_open(&b, false);
    b.f.t[2] = field_template(vast);
    b.set = (tt__template_set){1, &b.f.t[2]};
    assert_ok(tt__search_open(&b.s, &b.f.problem, &tt__no_limits, &some));
    assert_ok(tt__space_resolve(&c, b.f.t[2], &b.s.gpu, &b.f.problem, stored));
    assert_ok(
        tt__store_config(b.s.store, "vast", c.configuration.t->op, c.configuration.t->hash, stored, &id));
    assert_ok(tt__store_winner_put(b.s.store, b.s.run_id, some.problem_id, id, &(tt__winner){.time_us = 1}));
    tt__search_close(&some);
    tt__copy(b.s.env.driver, sizeof b.s.env.driver, "590.1");
    bench_begin_run(&b, "measured");
    assert_ok(tt__search_open(&b.s, &b.f.problem, &tt__no_limits, &some));
    assert_true(tt__space_member(&some.space, "vast", stored) != TT__NOTHING);
    tt__search_close(&some);
    bench_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inserts),
        cmocka_unit_test(test_a_small_sample_is_widened),
        cmocka_unit_test(test_a_sample_has_what_is_stored),
        cmocka_unit_test(test_a_timeout_is_in_no_other_part),
        cmocka_unit_test(test_a_sample_has_the_winner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
