/* Spaces that are too large to list: samples of them, and neighbours. */
#include "template_fixture.h"

#include <math.h>

#include "base/clock.h"
#include "kernel/space/space.h"

/* A template with n parameters of eight values. */
static tt__template *make_large(int n, const char *wheres) {
    tt__str s = {0}, def = {0};
    for (int k = 0; k < n; k++) {
        tt__str_addf(&s, "//@ param P%d 0 1 2 3 4 5 6 7\n", k);
        tt__str_addf(&def, " P%d=0", k);
    }
    tt__str_addf(&s, "%s//@ block 1 + P%d\n//@ grid 1\n//@ args dst\n//@ default%s\n", wheres, n - 1,
                 def.text);
    tt__template *t = template_make(s.text);
    tt__str_free(&s);
    tt__str_free(&def);
    return t;
}

/* Of a space that is too large, there are the default and a sample, without one twice. */
static void samples_large_spaces(void **state) {
    (void)state;
    static const struct {
        int n;
        const char *wheres;
        double legal, exact; /* exact: the estimate may differ by this share */
    } cases[] = {
        {12, "", 0x1p36, 0},
        {6, "", 0x1p18, 0}, /* listed first, until there are too many */
        {7, "//@ where P0 <= 4\n", 5 * 0x1p18, 0.05},
        {6, "//@ where P0 = P1\n", 32768, 0},
        {32, "//@ where P0 = P31\n//@ where P1 + P2 < 1\n", 0x1p87, 0.05},
        {12, "//@ where P11 + P10 + P9 < 8\n", 120.0 * 0x1p27, 0.05},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        tt__template *t = make_large(cases[i].n, cases[i].wheres);
        tt__problem p = template_problem("transpose", 0);
        tt__space space = {0};
        tt__candidate c;
        size_t values[8] = {0};
        double start = tt__now_s();
        assert_int_equal(tt__space_add(&space, t, &template_gpu, &p), TT_OK);
        print_message("%g of %g configurations in %.2f s\n", space.legal, cases[i].legal,
                      tt__now_s() - start);
        assert_int_equal(space.sampled, cases[i].legal > TT__CONFIGS_MAX);
        if (fabs(space.legal / cases[i].legal - 1) > cases[i].exact)
            fail_msg("found %g configurations, expected %g", space.legal, cases[i].legal);
        assert_string_equal(space.items[0].config, t->default_config);
        for (size_t k = 0; k < space.n; k++) {
            values[space.items[k].pass.block[0] - 1]++;
            if (k > 1)
                assert_string_not_equal(space.items[k].config, space.items[k - 1].config);
            if (k % 1024 == 0)
                assert_int_equal(tt__space_resolve(&c, t, &template_gpu, &p, space.items[k].config), TT_OK);
        }
        for (size_t v = 0; v < 8 && i < 4; v++) /* each value as often as the others */
            assert_in_range(values[v] * 8 * 100 / space.n, 85, 115);
        tt__space_free(&space);
        tt__template_free(&t);
    }
}

/* Neighbours are legal and differ in one or two parameters. */
static void finds_neighbours(void **state) {
    (void)state;
    enum { PAIRS = 100 };
    tt__template *t = make_large(12, "//@ where P0 = P1\n//@ where P2 < 2\n");
    tt__problem p = template_problem("transpose", 0);
    tt__space space = {0};
    size_t one = 0;
    assert_int_equal(tt__space_neighbours(&space, t, &template_gpu, &p, t->default_config, PAIRS), TT_OK);
    for (size_t i = 0; i < space.n; i++) {
        tt__candidate c;
        size_t apart = 0;
        for (const char *at = space.items[i].config; (at = strchr(at, '=')); at++)
            apart += at[1] != '0';
        assert_in_range(apart, i < 64 ? 1 : 0, i < 64 ? 1 : 2);
        one += apart == 1;
        assert_int_equal(tt__space_resolve(&c, t, &template_gpu, &p, space.items[i].config), TT_OK);
    }
    assert_true(one >= 9 * 7 + 1);
    assert_true(space.n > 64 && space.n <= 64 + PAIRS);
    tt__space_free(&space);
    tt__template_free(&t);
}

/* A template without parameters has one configuration, also beside a sampled one. */
static void a_plain_kernel_has_no_neighbours(void **state) {
    (void)state;
    tt__template *t = template_make("//@ block 256\n//@ grid 1\n//@ args dst\n");
    tt__problem p = template_problem("transpose", 0);
    tt__space space = {0};
    assert_int_equal(t->n_params, 0);
    assert_int_equal(tt__space_neighbours(&space, t, &template_gpu, &p, t->default_config, 8), TT_OK);
    assert_int_equal(space.n, 0);
    tt__template_free(&t);
}

/* None of 2^36 configurations is legal. The second `where` needs all parameters. */
static void gives_up_on_endless_spaces(void **state) {
    (void)state;
    static const struct {
        const char *wheres;
        tt_status status;
    } cases[] = {{"//@ where rows < 8192 OR P0 + P11 < 0\n", TT_E_TEMPLATE},
                 {"//@ where rows < 8192\n", TT_OK}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        tt__template *t = make_large(12, cases[i].wheres);
        tt__problem p = template_problem("transpose", 0);
        tt__space space = {0};
        assert_int_equal(tt__space_add(&space, t, &template_gpu, &p), cases[i].status);
        if (cases[i].status != TT_OK)
            assert_non_null(strstr(tt_last_error(), "no legal configuration was found"));
        assert_int_equal(space.n, 0);
        tt__space_free(&space);
        tt__template_free(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_up_on_endless_spaces),
        cmocka_unit_test(samples_large_spaces),
        cmocka_unit_test(finds_neighbours),
        cmocka_unit_test(a_plain_kernel_has_no_neighbours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
