/*
 * A configuration as compiler options, and as the name of a build.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/grow.h"
#include "base/random.h"
#include "db/field.h"
#include "kernel/load/builtin.h"
#include "kernel/load/parse.h"
#include "kernel/model/template.h"
#include "kernel/space/config.h"
#include "kernel/space/operation.h"
#include "kernel/space/space.h"
#include "problem_fixture.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const tt__gpu gpu = {.cc = 90, .max_threads_per_block = 1024, .shared_per_block = 232448};

static void makes_compiler_options(void **state) {
    (void)state;
    static const char expected[] = "-DTILE_DIM=32\0-DMODE=fast";
    static const char *const bad[] = {"A", "A=", "=1", "A=1;2", "A-B=1", "A=\"x\""};
    tt__problem p = square_of(8192, 4);
    tt__candidate c = {.configuration.config = "TILE_DIM=32 MODE=fast"};
    tt__str out;
    int n;
    assert_int_equal(tt__config_options(&out, &n, &c.configuration, &p), TT_OK);
    assert_int_equal(n, 2);
    assert_int_equal(out.len, sizeof expected);
    assert_memory_equal(out.text, expected, sizeof expected);
    tt__str_free(&out);
    c.configuration.config[0] = '\0';
    assert_int_equal(tt__config_options(&out, &n, &c.configuration, &p), TT_OK);
    assert_int_equal(n, 0);
    tt__str_free(&out);
    for (size_t i = 0; i < COUNT(bad); i++) {
        tt__copy(c.configuration.config, sizeof c.configuration.config, bad[i]);
        assert_int_equal(tt__config_options(&out, &n, &c.configuration, &p), TT_E_INVALID);
        assert_null(out.text);
    }
}

/* Derived values are in the options and in the name of the build, and not in the configuration. If a `where`
 * does not hold they may have no value: A - 16 is 0. */
static void derives_what_the_problem_fixes(void **state) {
    (void)state;
    static const struct {
        int64_t side;
        int elem_size;
        const char *config, *build;
        size_t n_options;
        const char *options; /* '|' is the end of one */
    } cases[] = {
        {8192, 4, "A=32 R=1", "A=32 R=1 EDGES=0 EACH=512 MINUS=-8192", 6,
         "-DA=32|-DEDGES=0|-DEACH=512|-DMINUS=-8192|-DELEM_SIZE=4|users:k |"},
        {8192, 4, "A=32 R=2", "A=32 R=2 EDGES=0 EACH=512 MINUS=-8192", 6,
         "-DA=32|-DEDGES=0|-DEACH=512|-DMINUS=-8192|-DELEM_SIZE=4|users:k |"},
        {100, 8, "A=32 R=1", "A=32 R=1 EDGES=1 EACH=6 MINUS=-100", 6,
         "-DA=32|-DEDGES=1|-DEACH=6|-DMINUS=-100|-DELEM_SIZE=8|users:k |"},
        {100, 8, "A=64 R=1", "A=64 R=1 EDGES=1 EACH=2 MINUS=-100", 6,
         "-DA=64|-DEDGES=1|-DEACH=2|-DMINUS=-100|-DELEM_SIZE=8|users:k |"},
    };
    tt__template *t;
    static const char text[] = "//@ kernel k\n//@ op transpose\n//@ param A 16 32 64\n//@ runtime R 1 2\n//@ "
                               "derived EDGES rows % A > 0\n"
                               "//@ derived EACH rows / (A - 16)\n//@ where A > 16\n//@ derived MINUS -rows\n"
                               "//@ block 1\n//@ grid R\n//@ args dst\n//@ default A=32 R=1\n"
                               "extern \"C\" void k();\n";
    assert_int_equal(tt__template_parse(&t, "t.cu", text), TT_OK);
    for (size_t i = 0; i < COUNT(cases); i++) {
        tt__problem p = square_of(cases[i].side, cases[i].elem_size);
        tt__candidate c;
        tt__space space = {0};
        tt__survey s;
        tt__str out;
        char build[TT__BUILD_MAX];
        int n;
        size_t at = 0;
        assert_int_equal(tt__space_resolve(&c, t, &gpu, &p, cases[i].config), TT_OK);
        assert_string_equal(c.configuration.config, cases[i].config);
        assert_int_equal(tt__space_add(&space, t, &gpu, &p), TT_OK);
        assert_int_equal(tt__space_survey(&s, t, &gpu, &p), TT_OK);
        assert_int_equal(space.n, 4);
        assert_int_equal(s.legal, 4);
        while (strcmp(space.items[at].config, c.configuration.config) != 0)
            at++;
        assert_memory_equal(space.items[at].derived, c.configuration.derived, sizeof c.configuration.derived);
        assert_int_equal(tt__config_options(&out, &n, &c.configuration, &p), TT_OK);
        assert_int_equal(n, cases[i].n_options);
        for (size_t k = 0; k < out.len; k++)
            out.text[k] = out.text[k] ? out.text[k] : '|';
        assert_string_equal(out.text, cases[i].options);
        tt__config_build(build, &c.configuration, &p);
        assert_string_equal(build, cases[i].build);
        c.configuration.t = NULL;
        tt__config_build(build, &c.configuration, &p);
        assert_string_equal(build, cases[i].config);
        tt__str_free(&out);
        tt__space_free(&space);
    }
    tt__template_free(&t);
}

/* `where`, grid, shared memory and arguments know what is derived, and so do the lines below it. A `let` is
 * no macro, so it may depend on a run-time parameter. */
static void names_formulas(void **state) {
    (void)state;
    static const char text[] =
        "//@ kernel k\n//@ op transpose\n//@ param A 16 32\n//@ runtime R 1 2\n"
        "//@ derived EDGES rows % A > 0\n//@ let TALL A * R\n//@ let DOWN ceil_div(rows, TALL)\n"
        "//@ where EDGES = 0 OR A = 32\n//@ block 1\n//@ grid DOWN + EDGES, 2 * TALL\n//@ shared TALL + 1\n"
        "//@ args dst, i32 DOWN * 2\n//@ default A=32 R=1\nextern \"C\" void k();\n";
    tt__problem p = square_of(100, 4);
    tt__template *t;
    tt__space space = {0};
    tt__candidate c;
    tt__str out;
    char build[TT__BUILD_MAX];
    int n;
    assert_int_equal(tt__template_parse(&t, "t.cu", text), TT_OK);
    assert_int_equal(tt__space_add(&space, t, &gpu, &p), TT_OK);
    assert_int_equal(space.n, 2); /* A=16 does not divide 100 */
    assert_int_equal(tt__space_resolve(&c, t, &gpu, &p, "A=16 R=1"), TT_E_UNSUPPORTED);
    assert_int_equal(tt__space_resolve(&c, t, &gpu, &p, "A=32 R=2"), TT_OK);
    assert_int_equal(c.launch.passes[0].grid[0], 3);
    assert_int_equal(c.launch.passes[0].grid[1], 128);
    assert_int_equal(c.launch.passes[0].shared_bytes, 65);
    assert_int_equal(c.launch.args[1].i, 4);
    tt__config_build(build, &c.configuration, &p);
    assert_string_equal(build, "A=32 R=2 EDGES=1");
    assert_int_equal(tt__config_options(&out, &n, &c.configuration, &p), TT_OK);
    assert_int_equal(n, 4);
    tt__str_free(&out);
    tt__space_free(&space);
    tt__template_free(&t);
}

/* A `let` may come to any value, because it is no macro. */
static void names_any_value(void **state) {
    (void)state;
    tt__problem p = square_of(100, 4);
    tt__template *t;
    tt__candidate c;
    static const char text[] =
        "//@ kernel k\n//@ op transpose\n//@ param A 16 32\n//@ let HALF A / 2.0\n//@ let NONE rows / (A - "
        "A)\n"
        "//@ where HALF > 7.5 AND NONE IS NULL\n//@ block 1\n//@ grid 1\n//@ args dst, f32 HALF\n"
        "//@ default A=32\nextern \"C\" void k();\n";
    if (tt__template_parse(&t, "t.cu", text) != TT_OK || tt__space_resolve(&c, t, &gpu, &p, "A=16") != TT_OK)
        fail_msg("%s", tt_last_error());
    assert_true(c.launch.args[1].f == 8.0);
    tt__template_free(&t);
}

/* The words true and false are what C++ and SQL take them for. */
static void knows_true_and_false(void **state) {
    (void)state;
    static const char *const wheres[] = {"NOT USE OR V = 4", "USE = FALSE OR V = 4", "USE = 'false' OR V = 4",
                                         "USE <> true OR V = 4", "USE IN ('false', 'auto') OR V = 4"};
    tt__problem p = square_of(100, 4);
    for (size_t i = 0; i < COUNT(wheres); i++) {
        char text[512];
        tt__template *t;
        tt__candidate c, first;
        tt__space space = {0};
        snprintf(text, sizeof text,
                 "//@ kernel k\n//@ op transpose\n//@ param USE true false\n//@ param MODE auto other\n"
                 "//@ param V 1 4\n//@ where %s\n//@ block 1\n//@ grid 1\n//@ args dst, bool USE\n"
                 "//@ default USE=true MODE=auto V=4\nextern \"C\" void k();\n",
                 wheres[i]);
        if (tt__template_parse(&t, "t.cu", text) != TT_OK || tt__space_add(&space, t, &gpu, &p) != TT_OK)
            fail_msg("%s: %s", wheres[i], tt_last_error());
        assert_int_equal(space.n, 6); /* without USE=true V=1 */
        assert_int_equal(tt__space_at(&first, t, &gpu, &p, space.items[0].choice), TT_OK);
        assert_int_equal(tt__space_resolve(&c, t, &gpu, &p, "USE=true MODE=auto V=1"), TT_E_UNSUPPORTED);
        assert_int_equal(first.launch.args[1].i, 1);
        tt__space_free(&space);
        tt__template_free(&t);
    }
}

/* Any number but 0 holds, also a fraction. */
static void conditions_may_be_fractions(void **state) {
    (void)state;
    static const char text[] =
        "//@ kernel k\n//@ problem n 3\n//@ buffer y f32 n out\n//@ require n / 4.0\n//@ block 1\n//@ grid "
        "1\n"
        "//@ args y\n//@ kernel k2\n//@ when n / 4.0\n//@ block 1\n//@ grid 1\n//@ args y\n"
        "//@ kernel k3\n//@ when n * 0.0\n//@ block 1\n//@ grid 1\n//@ args y\n"
        "extern \"C\" void k(); void k2(); void k3();\n";
    tt__template *t;
    tt__candidate c;
    tt__problem p;
    if (tt__template_parse(&t, "t.cu", text) != TT_OK ||
        tt__operation_problem(&p, t->operation, t->op, "n=3") != TT_OK ||
        tt__space_resolve(&c, t, &gpu, &p, "") != TT_OK)
        fail_msg("%s", tt_last_error());
    assert_false(c.launch.passes[1].off);
    assert_true(c.launch.passes[2].off);
    tt__template_free(&t);
}

/* A limit that no compiler takes excludes the configuration, and leaves the others. */
/* Kernels that get the sizes as arguments: permutations of any sizes share few cubins. */
static void sizes_are_arguments(void **state) {
    (void)state;
    enum { PROBLEMS = 600, BUILDS_MAX = 24 };
    static const char *const kernels[] = {"permute_any_rows", "permute_any_tiled", "permute_any_small"};
    static char builds[BUILDS_MAX][TT__BUILD_MAX];
    size_t n_builds = 0, legal = 0;
    uint64_t seed = 7;
    tt__template_set set;
    const tt__operation *op;
    assert_int_equal(tt__template_set_open(&set, NULL, 0), TT_OK);
    assert_int_equal(tt__operation_builtin(&op, "permute"), TT_OK);
    for (int i = 0; i < PROBLEMS; i++) {
        const unsigned a = 2 + (unsigned)tt__random_below(&seed, 200),
                       b = 2 + (unsigned)tt__random_below(&seed, 60),
                       c = 2 + (unsigned)tt__random_below(&seed, 90);
        char text[256], build[TT__BUILD_MAX];
        tt__problem p;
        /* a x b x c, read as c x b x a, or with rows that stay rows */
        snprintf(text, sizeof text,
                 i % 2 ? "dim0=%u dim1=%u dim2=%u stride0=1 stride1=%u stride2=%u"
                       : "dim0=%u dim1=%u dim2=%u stride0=%u stride1=%u stride2=1",
                 a, b, c, i % 2 ? a : c, i % 2 ? a * b : a * c);
        assert_int_equal(tt__operation_problem(&p, op, "permute", text), TT_OK);
        for (size_t k = 0; k < COUNT(kernels); k++) {
            const tt__template *t = tt__template_set_find(&set, kernels[k]);
            tt__candidate candidate;
            size_t at = 0;
            assert_non_null(t);
            if (tt__space_resolve(&candidate, t, &gpu, &p, t->default_config) != TT_OK)
                continue;
            legal++;
            tt__config_build(build, &candidate.configuration, &p);
            assert_int_equal(tt__check_config(build),
                             TT_OK); /* as readers of a store and of a lock file do */
            while (at < n_builds && strcmp(builds[at], build) != 0)
                at++;
            if (at == n_builds) {
                assert_true(n_builds < BUILDS_MAX);
                strcpy(builds[n_builds++], build);
            }
        }
    }
    tt__template_set_close(&set);
    assert_true(legal >= PROBLEMS); /* each has an answer */
}

static void registers_are_a_limit(void **state) {
    (void)state;
    static const char text[] =
        "//@ kernel k\n//@ op transpose\n//@ param THREADS 0 64 256 1024 8192\n//@ block 1\n//@ grid 1\n"
        "//@ args dst\n//@ maxrregcount 65536 / THREADS\n//@ default THREADS=1024\nextern \"C\" void k();\n";
    tt__problem p = square_of(100, 4);
    tt__template *t;
    tt__candidate c;
    tt__survey survey;
    tt__space space = {0};
    assert_int_equal(tt__template_parse(&t, "t.cu", text), TT_OK);
    assert_int_equal(tt__space_add(&space, t, &gpu, &p), TT_OK);
    assert_int_equal(space.n, 1);
    assert_int_equal(tt__space_resolve(&c, t, &gpu, &p, "THREADS=256"), TT_E_UNSUPPORTED);
    assert_non_null(
        strstr(tt_last_error(), "`65536 / THREADS` is 256, expected 16 to 255 registers (t.cu:7)"));
    assert_int_equal(tt__space_resolve(&c, t, &gpu, &p, "THREADS=8192"), TT_E_UNSUPPORTED);
    assert_int_equal(tt__space_resolve(&c, t, &gpu, &p, "THREADS=0"), TT_E_UNSUPPORTED);
    assert_int_equal(tt__space_survey(&survey, t, &gpu, &p), TT_OK);
    assert_int_equal(survey.legal, 1);
    tt__space_free(&space);
    tt__template_free(&t);
}

/* The compiler is asked for the whole instance of a template, however long it is. */
static void asks_for_long_instances(void **state) {
    (void)state;
    enum { LENGTH = TT__SYMBOL_MAX - 1 };
    char symbol[TT__SYMBOL_MAX];
    tt__problem p = square_of(64, 4);
    tt__template *t;
    tt__candidate c;
    tt__str text = {0}, out;
    int n, n_found = 0;
    memset(symbol, '1', sizeof symbol);
    memcpy(symbol, "k<", 2);
    memcpy(symbol + LENGTH - 1, ">", 2);
    tt__str_addf(
        &text,
        "//@ kernel %s\n//@ op transpose\n//@ param A 1\n//@ block 1\n//@ grid 1\n//@ args dst, src\n"
        "//@ default A=1\ntemplate <int N> __global__ void k(void *dst, const void *src) {}\n",
        symbol);
    assert_int_equal(tt__template_parse(&t, "t.cu", text.text), TT_OK);
    assert_int_equal(tt__space_resolve(&c, t, &gpu, &p, "A=1"), TT_OK);
    assert_int_equal(tt__config_options(&out, &n, &c.configuration, &p), TT_OK);
    const char *at = out.text;
    for (int i = 0; i < n; i++, at += strlen(at) + 1)
        n_found += strncmp(at, "kernel:", 7) == 0 && strcmp(at + 7, symbol) == 0;
    assert_int_equal(n_found, 1);
    tt__str_free(&out);
    tt__str_free(&text);
    tt__template_free(&t);
}

/* The compiler is asked for the names of kernels that it chooses, whatever else is extern "C". */
static void asks_for_names_of_cxx(void **state) {
    (void)state;
    static const struct {
        const char *code;
        bool asked;
    } cases[] = {
        {"extern \"C\" __global__ void k(void *dst, const void *src) {}", false},
        {"extern \"C\" void run();\n__global__ void k(void *dst, const void *src) {}", true},
        {"extern \"C\" {\nvoid run();\n}\n__global__ void k(void *dst, const void *src) {}", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__problem p = square_of(64, 4);
        tt__template *t;
        tt__candidate c;
        tt__str text = {0}, out;
        int n;
        bool asked = false;
        tt__str_addf(
            &text,
            "//@ kernel k\n//@ op transpose\n//@ param A 1\n//@ block 1\n//@ grid 1\n//@ args dst, src\n"
            "//@ default A=1\n%s\n",
            cases[i].code);
        assert_int_equal(tt__template_parse(&t, "t.cu", text.text), TT_OK);
        assert_int_equal(tt__space_resolve(&c, t, &gpu, &p, "A=1"), TT_OK);
        assert_int_equal(tt__config_options(&out, &n, &c.configuration, &p), TT_OK);
        const char *at = out.text;
        for (int k = 0; k < n; k++, at += strlen(at) + 1)
            asked |= strcmp(at, "kernel:k") == 0;
        assert_int_equal(asked, cases[i].asked);
        tt__str_free(&out);
        tt__str_free(&text);
        tt__template_free(&t);
    }
}

/* A name may stand for an expression that has another one many times, and so on. Each is evaluated once. */
static void names_do_not_explode(void **state) {
    (void)state;
    tt__str text = {0};
    tt__template *t = NULL;
    tt__str_add(&text, "//@ kernel k\n//@ op transpose\n//@ let D0 rows\n");
    for (int i = 1; i < TT__DERIVED_MAX; i++) {
        tt__str_addf(&text, "//@ let D%d max(", i);
        for (int k = 0; k < 200; k++)
            tt__str_addf(&text, k % 14 == 0 ? "%smax(D%d" : "%sD%d", k % 14 ? "," : k ? ")," : "", i - 1);
        tt__str_add(&text, "),1)\n");
    }
    tt__str_add(&text, "//@ block 1\n//@ grid D11\n//@ args dst\nextern \"C\" void k();\n");
    tt__problem p = square_of(64, 4);
    tt__candidate c;
    assert_int_equal(tt__template_parse(&t, "t.cu", tt__str_text(&text)), TT_OK);
    assert_int_equal(tt__space_resolve(&c, t, &gpu, &p, ""), TT_OK);
    assert_int_equal(c.launch.passes[0].grid[0], 64);
    tt__template_free(&t);
    tt__str_free(&text);
}

/* The array keeps its content when it moves. */
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
        cmocka_unit_test(makes_compiler_options),  cmocka_unit_test(derives_what_the_problem_fixes),
        cmocka_unit_test(names_formulas),          cmocka_unit_test(names_any_value),
        cmocka_unit_test(knows_true_and_false),    cmocka_unit_test(conditions_may_be_fractions),
        cmocka_unit_test(sizes_are_arguments),     cmocka_unit_test(registers_are_a_limit),
        cmocka_unit_test(asks_for_long_instances), cmocka_unit_test(asks_for_names_of_cxx),
        cmocka_unit_test(names_do_not_explode),    cmocka_unit_test(grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
