/*
 * Files with an operation of their own that are accepted. test_operation.c has those that are refused.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/load/parse.h"
#include "kernel/space/operation.h"
#include "kernel/space/workload.h"
#include "operation_fixture.h"

static const tt__gpu gpu = {
    .cc = 90, .sm_count = 100, .max_threads_per_block = 1024, .shared_per_block = 227 << 10};

static const char head[] =
    "//@ kernel k\n//@ problem n 1000\n//@ buffer x i32 n in\n//@ buffer y i32 n out\n";
static const char geometry[] = "//@ block 32\n//@ grid 1\n//@ args x, y\n";
static const char code[] = "static __constant__ int abc[4]; // static, for each c\n"
                           "/* static */\n#define F static __device__\n__constant__ int c[4];\nextern \"C\" "
                           "__global__ void k(int *x, int *y) {}\n"
                           "extern \"C\" __global__ void k2(int *y, int chunks) {}\n";

/* `more` comes before the kernel's geometry, `last` follows it. */
static tt__template *parse(const char *more, const char *last) {
    char text[4096];
    tt__template *t;
    snprintf(text, sizeof text, "%s%s%s%s%s", head, more, geometry, last, code);
    if (tt__template_parse(&t, "t.cu", text) != TT_OK)
        fail_msg("%s\n%s", tt_last_error(), text);
    return t;
}

static tt_status resolve(tt__candidate *out, const tt__template *t, const char *config) {
    tt__problem p;
    assert_int_equal(tt__operation_problem(&p, t->operation, t->op, ""), TT_OK);
    return tt__space_resolve(out, t, &gpu, &p, config);
}

static void accepts(void **state) {
    static const char *const more[] = {
        "//@ buffer z i32 n in uniform -n n\n",
        "//@ buffer z i32 n in uniform -3 n\n",
        "//@ constant c i32 4 x\n", /* as the buffer */
        "//@ where n % 1024 = 0\n//@ sample n=1024\n",
        "//@ buffer z i32 n in index n + i\n",
        "//@ type T f32 f64\n//@ buffer z T iif(T > 4, n, 1) in\n", /* the length is read without the file */
    };
    (void)state;
    for (size_t i = 0; i < COUNT(more); i++) {
        tt__template *t = parse(more[i], "");
        tt__template_free(&t);
    }
}

/* The length of a buffer may depend on a parameter of a space that is too large to go through. The largest is
 * found among what the conditions on this parameter allow. */
static void lengths_in_a_large_space(void **state) {
    static const int n_params[] = {14, 13}; /* at once, and after an attempt to go through it */
    (void)state;
    for (size_t k = 0; k < COUNT(n_params); k++) {
        tt__str more = {0};
        tt__problem p;
        tt__workload w;
        for (int i = 0; i < n_params[k]; i++)
            tt__str_addf(&more, "//@ param P%d 1 2 3 4\n", i);
        tt__str_add(&more, "//@ param B 1 2 4 8\n//@ where B >= 4\n//@ where P1 <= 2 OR B >= 8\n"
                           "//@ buffer z i32 n * 32 / B out\n//@ default B=4");
        for (int i = 0; i < n_params[k]; i++)
            tt__str_addf(&more, " P%d=1", i);
        tt__str_add(&more, "\n");
        tt__template *t = parse(more.text, "");
        assert_int_equal(tt__operation_problem(&p, t->operation, t->op, ""), TT_OK);
        assert_int_equal(tt__workload_of(&w, t, &gpu, &p), TT_OK);
        assert_int_equal(w.arrays[2].count, 1000 * 32 / 4);
        tt__template_free(&t);
        tt__str_free(&more);
    }
}

/* A kernel that is left out needs neither a grid nor a block that can be. */
static void leaves_a_kernel_out(void **state) {
    static const struct {
        const char *geometry, *config;
        tt_status status;
    } cases[] = {
        {"block 32\n//@ grid CHUNKS - 1", "CHUNKS=1", TT_OK},
        {"block 32\n//@ grid CHUNKS - 1", "CHUNKS=4", TT_OK},
        {"block 32\n//@ grid 1\n//@ repeat CHUNKS - 2", "CHUNKS=1", TT_OK},
        {"block 2048 / CHUNKS\n//@ grid 1", "CHUNKS=1", TT_OK},
        {"block 8192 / CHUNKS\n//@ grid 1", "CHUNKS=4", TT_E_UNSUPPORTED},
        {"block 32\n//@ grid 1\n//@ shared 400000 / CHUNKS", "CHUNKS=1", TT_OK},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[1024];
        tt__candidate c;
        snprintf(text, sizeof text, "//@ kernel k2\n//@ when CHUNKS > 1\n//@ %s\n//@ args y, i32 CHUNKS\n",
                 cases[i].geometry);
        tt__template *t = parse("//@ param CHUNKS 1 4\n//@ default CHUNKS=1\n", text);
        assert_int_equal(resolve(&c, t, cases[i].config), cases[i].status);
        if (cases[i].status == TT_OK)
            assert_int_equal(c.launch.passes[1].off, strcmp(cases[i].config, "CHUNKS=1") == 0);
        if (cases[i].status == TT_OK && strncmp(cases[i].geometry, "block 32", 8) == 0)
            assert_int_equal(c.launch.passes[1].block[0], 32);
        tt__template_free(&t);
    }
}

/* An operation of one's own that is like permute may have any element size. There is no tile for those that
 * are no power of two up to 16. */
static void tiles_of_an_odd_size(void **state) {
    static const struct {
        const char *size;
        tt_status status;
    } cases[] = {{"4", TT_OK},
                 {"16", TT_OK},
                 {"32", TT_E_TEMPLATE},
                 {"12", TT_E_TEMPLATE},
                 {"4294967296", TT_E_TEMPLATE}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        tt__str text = {0};
        tt__template *t;
        tt__str_add(&text, "//@ kernel k\n");
        for (int k = 0; k < 32; k++)
            tt__str_addf(&text, "//@ problem %s%d %d\n", k < 16 ? "dim" : "stride", k % 16,
                         k % 16 ? 1 : 1024);
        tt__str_addf(&text,
                     "//@ problem elem_size %s\n//@ problem align 16\n//@ macros variables\n"
                     "//@ buffer x u8 dim0 in\n//@ buffer y u8 dim0 out\n//@ block 32\n"
                     "//@ grid permute_tile(0, 64, 64)\n//@ args x, y\nextern \"C\" __global__ void k() {}\n",
                     cases[i].size);
        tt_status status = tt__template_parse(&t, "t.cu", text.text);
        if (status != cases[i].status)
            fail_msg("elem_size %s: %d: %s", cases[i].size, status, tt_last_error());
        if (status == TT_OK)
            tt__template_free(&t);
        tt__str_free(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts),
        cmocka_unit_test(lengths_in_a_large_space),
        cmocka_unit_test(leaves_a_kernel_out),
        cmocka_unit_test(tiles_of_an_odd_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
