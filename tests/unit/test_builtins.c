/* The library takes its own templates on trust when it opens a context. Here they pass what a user's must. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(builtins_pass_every_check)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
