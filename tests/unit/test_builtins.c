/* The library takes its own templates on trust when it opens a context. Here they pass what a user's must. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"
#include "template/template.h"

static void builtins_pass_every_check(void **state) {
    (void)state;
    assert_true(tt__n_builtins > 5);
    for (size_t i = 0; i < tt__n_builtins; i++) {
        tt__template *checked, *trusted;
        if (tt__template_parse(&checked, tt__builtins[i].name, tt__builtins[i].source) != TT_OK)
            fail_msg("%s", tt_last_error());
        assert_int_equal(tt__template_builtin(&trusted, &tt__builtins[i]), TT_OK);
        assert_string_equal(trusted->default_config, checked->default_config);
        assert_string_equal(trusted->hash, checked->hash);
        tt__template_free(&checked);
        tt__template_free(&trusted);
    }
}

/* What nobody tuned gets a default, and every winner is compared with one: where a template can do anything
 * of up to 4 bytes in whole vectors, that is in its space. */
static void defaults_are_legal(void **state) {
    (void)state;
    static const tt__gpu gpu = {.cc = 90,
                                .sm_count = 132,
                                .max_threads_per_block = 1024,
                                .shared_per_block = 232448,
                                .l2_bytes = 62914560,
                                .memory_bytes = 150000000000};
    size_t n = 0;
    for (size_t i = 0; i < tt__n_builtins; i++)
        for (int elem_size = 1; elem_size <= 4; elem_size *= 2) {
            tt__template *t;
            tt__space space = {0};
            tt__problem p = {.rows = 4096,
                             .cols = 4096,
                             .lds = 4096,
                             .ldd = 4096,
                             .batch = 1,
                             .src_stride = 4096 * 4096,
                             .dst_stride = 4096 * 4096,
                             .elem_size = elem_size,
                             .align = 16};
            assert_int_equal(tt__template_builtin(&t, &tt__builtins[i]), TT_OK);
            tt__copy(p.op, sizeof p.op, t->op);
            assert_int_equal(tt__space_add(&space, t, &gpu, &p), TT_OK);
            if (space.n && strcmp(space.items[0].config, t->default_config) != 0)
                fail_msg("%s, %d bytes: the default is not in the space, which begins with %s", t->kernel,
                         elem_size, space.items[0].config);
            n += space.n > 0;
            tt__space_free(&space);
            tt__template_free(&t);
        }
    assert_true(n > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(builtins_pass_every_check),
                                       cmocka_unit_test(defaults_are_legal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
