/*
 * Members that are added to a space while it is searched.
 */
#include "search_fixture.h"
#include "tuner/widen.h"

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
    tt__candidate missing = all.space.items[MISSING], best = all.space.items[BEST];
    memmove(&all.space.items[MISSING], &all.space.items[MISSING + 1],
            (all.space.n - MISSING - 1) * sizeof missing);
    all.space.n--;
    assert_ok(tt__search_try(&b.s, &all, BEST - 1));
    assert_int_equal(all.best, BEST - 1);
    all.default_weight = 0.5;
    const tt__candidate *some[] = {&best, &missing, &missing};
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_inserts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
