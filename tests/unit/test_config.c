/* A configuration as the compiler's options and as the name of what is built. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/grow.h"
#include "template/template.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const tt__gpu gpu = {.cc = 90, .max_threads_per_block = 1024, .shared_per_block = 232448};

static tt__problem square(int64_t side, int elem_size) {
    tt_problem public = TT_INIT(tt_problem);
    tt__problem p;
    public.rows = public.cols = side;
    public.elem_size = elem_size;
    assert_int_equal(tt__problem_init(&p, &public), TT_OK);
    return p;
}

static void makes_compiler_options(void **state) {
    (void)state;
    static const char expected[] = "-DTILE_DIM=32\0-DMODE=fast";
    static const char *const bad[] = {"A", "A=", "=1", "A=1;2", "A-B=1", "A=\"x\""};
    tt__problem p = square(8192, 4);
    tt__candidate c = {.config = "TILE_DIM=32 MODE=fast"};
    tt__str out;
    int n;
    assert_int_equal(tt__config_options(&out, &n, &c, &p), TT_OK);
    assert_int_equal(n, 2);
    assert_int_equal(out.len, sizeof expected);
    assert_memory_equal(out.text, expected, sizeof expected);
    tt__str_free(&out);
    c.config[0] = '\0';
    assert_int_equal(tt__config_options(&out, &n, &c, &p), TT_OK);
    assert_int_equal(n, 0);
    tt__str_free(&out);
    for (size_t i = 0; i < COUNT(bad); i++) {
        tt__copy(c.config, sizeof c.config, bad[i]);
        assert_int_equal(tt__config_options(&out, &n, &c, &p), TT_E_INVALID);
        assert_null(out.text);
    }
}

/* What is derived is in the options and in the name of what is built, and in no configuration. Where a
 * `where` does not hold it may come to nothing: A - 16 is 0. */
static void derives_what_the_problem_fixes(void **state) {
    (void)state;
    static const struct {
        int64_t side;
        int elem_size;
        const char *config, *build;
        size_t n_options;
        const char *options; /* '|' is the end of one */
    } cases[] = {
        {8192, 4, "A=32 R=1", "A=32 R=1 EDGES=0 EACH=512 MINUS=-8192", 5,
         "-DA=32|-DEDGES=0|-DEACH=512|-DMINUS=-8192|-DELEM_SIZE=4|"},
        {8192, 4, "A=32 R=2", "A=32 R=2 EDGES=0 EACH=512 MINUS=-8192", 5,
         "-DA=32|-DEDGES=0|-DEACH=512|-DMINUS=-8192|-DELEM_SIZE=4|"},
        {100, 8, "A=32 R=1", "A=32 R=1 EDGES=1 EACH=6 MINUS=-100", 5,
         "-DA=32|-DEDGES=1|-DEACH=6|-DMINUS=-100|-DELEM_SIZE=8|"},
        {100, 8, "A=64 R=1", "A=64 R=1 EDGES=1 EACH=2 MINUS=-100", 5,
         "-DA=64|-DEDGES=1|-DEACH=2|-DMINUS=-100|-DELEM_SIZE=8|"},
    };
    tt__template *t;
    static const char text[] = "//@ kernel k\n//@ op transpose\n//@ param A 16 32 64\n//@ runtime R 1 2\n//@ "
                               "derived EDGES rows % A > 0\n"
                               "//@ derived EACH rows / (A - 16)\n//@ where A > 16\n//@ derived MINUS -rows\n"
                               "//@ block 1\n//@ grid R\n//@ args dst\n//@ default A=32 R=1\n"
                               "extern \"C\" void k();\n";
    assert_int_equal(tt__template_parse(&t, "t.cu", text), TT_OK);
    for (size_t i = 0; i < COUNT(cases); i++) {
        tt__problem p = square(cases[i].side, cases[i].elem_size);
        tt__candidate c;
        tt__space space = {0};
        tt__survey s;
        tt__str out;
        char build[TT__BUILD_MAX];
        int n;
        size_t at = 0;
        assert_int_equal(tt__space_resolve(&c, t, &gpu, &p, cases[i].config), TT_OK);
        assert_string_equal(c.config, cases[i].config);
        assert_int_equal(tt__space_add(&space, t, &gpu, &p), TT_OK);
        assert_int_equal(tt__space_survey(&s, t, &gpu, &p), TT_OK);
        assert_int_equal(space.n, 4);
        assert_int_equal(s.legal, 4);
        while (strcmp(space.items[at].config, c.config) != 0)
            at++;
        assert_memory_equal(space.items[at].derived, c.derived, sizeof c.derived);
        assert_int_equal(tt__config_options(&out, &n, &c, &p), TT_OK);
        assert_int_equal(n, cases[i].n_options);
        for (size_t k = 0; k < out.len; k++)
            out.text[k] = out.text[k] ? out.text[k] : '|';
        assert_string_equal(out.text, cases[i].options);
        tt__config_build(build, &c, &p);
        assert_string_equal(build, cases[i].build);
        c.t = NULL;
        tt__config_build(build, &c, &p);
        assert_string_equal(build, cases[i].config);
        tt__str_free(&out);
        tt__space_free(&space);
    }
    tt__template_free(&t);
}

/* What holds them all keeps what it has, wherever it moves. */
static void grows(void **state) {
    (void)state;
    enum { N = 100 };
    size_t *items = NULL;
    for (size_t n = 0; n < N; n++) {
        assert_int_equal(TT__GROW(items, n), TT_OK);
        items[n] = n;
        for (size_t i = 0; i <= n; i++)
            assert_int_equal(items[i], i);
    }
    free(items);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_compiler_options),
        cmocka_unit_test(derives_what_the_problem_fixes),
        cmocka_unit_test(grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
