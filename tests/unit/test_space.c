/*
 * Compares the space with loops in C: its configurations, their order, and how each is launched.
 */
#include "template_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "kernel/load/parse.h"
#include "kernel/space/operation.h"
#include "kernel/space/space.h"
#include "problem_fixture.h"

static int64_t ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/* ---- The same spaces, by hand -------------------------------------------------------------------------- */

typedef struct list {
    size_t n;
    tt__candidate *items;
} list;

static tt__candidate *list_add(list *s) {
    assert_int_equal(TT__GROW(s->items, s->n), TT_OK);
    tt__candidate *c = &s->items[s->n];
    *c = (tt__candidate){.launch = {.n_passes = 1, .passes = {{.grid = {1, 1, 1}, .block = {1, 1, 1}}}}};
    return c;
}

static void add_tiled(list *s, const tt__gpu *g, const tt__problem *p, int tile, int rows, int pad,
                      int unroll, int order) {
    const tt_problem m = tt__matrix_of(p);
    int64_t across = ceil_div(m.cols, tile), down = ceil_div(m.rows, (int64_t)tile * unroll);
    int64_t x = order == 0 ? across : down, y = order == 0 ? down : across;
    int64_t shared = (int64_t)tile * (tile + pad) * m.elem_size;
    if (tile % rows || tile * rows < 64 || tile * rows > g->max_threads_per_block ||
        (tile == 128 && rows < 8) || m.align < m.elem_size || x > INT32_MAX || y > 65535 ||
        shared > g->shared_per_block)
        return;
    tt__candidate *c = list_add(s);
    snprintf(c->configuration.config, sizeof c->configuration.config,
             "TILE_DIM=%d BLOCK_ROWS=%d PAD=%d UNROLL=%d ORDER=%d", tile, rows, pad, unroll, order);
    tt__pass *pass = &c->launch.passes[0];
    pass->block[0] = (unsigned)tile;
    pass->block[1] = (unsigned)rows;
    pass->grid[0] = (unsigned)x;
    pass->grid[1] = (unsigned)y;
    pass->shared_bytes = (unsigned)shared;
    const tt__arg numbers[] = {
        {.type = TT__TYPE_I64, .i = m.rows, .bytes = 8},
        {.type = TT__TYPE_I64, .i = m.cols, .bytes = 8},
        {.type = TT__TYPE_I64, .i = m.lds, .bytes = 8},
        {.type = TT__TYPE_I64, .i = m.ldd, .bytes = 8},
        {.type = TT__TYPE_I32, .i = m.batch, .bytes = 4},
        {.type = TT__TYPE_I64, .i = m.src_stride, .bytes = 8},
        {.type = TT__TYPE_I64, .i = m.dst_stride, .bytes = 8},
        {.type = TT__TYPE_I32, .i = unroll, .bytes = 4},
        {.type = TT__TYPE_I32, .i = order, .bytes = 4},
    };
    pass->early = g->cc >= 90;
    pass->n_args = 2 + COUNT(numbers);
    c->launch.args[0].operand = 1; /* dst, then src */
    c->launch.args[0].bytes = c->launch.args[1].bytes = 8;
    memcpy(&c->launch.args[2], numbers, sizeof numbers);
    s->n++;
}

static void list_tiled(list *s, const tt__gpu *g, const tt__problem *p) {
    for (int tile = 16; tile <= 128; tile *= 2)
        for (int rows = 2; rows <= 32; rows *= 2)
            for (int pad = 0; pad <= 4; pad = pad ? 2 * pad : 1)
                for (int unroll = 1; unroll <= 8; unroll *= 2)
                    for (int order = 0; order < 2; order++)
                        add_tiled(s, g, p, tile, rows, pad, unroll, order);
}

static void list_linear(list *s, const tt__gpu *g, const tt__problem *p) {
    int64_t bytes = number_of(p, "bytes");
    for (int vec = 4; vec <= 16; vec *= 2)
        for (int threads = 128; threads <= 1024; threads *= 2)
            for (int k = 0; k < 16; k++) {
                int unroll = 1 << k / 4, stream = k / 2 % 2, keep = k % 2;
                int64_t grid = ceil_div(bytes, (int64_t)threads * unroll * vec);
                if (vec * unroll < 8 || threads > g->max_threads_per_block || grid > INT32_MAX)
                    continue;
                if (keep && (g->cc < 80 || stream || vec < 16 || bytes <= g->l2_bytes))
                    continue;
                tt__candidate *c = list_add(s);
                snprintf(c->configuration.config, sizeof c->configuration.config,
                         "VEC=%d THREADS=%d UNROLL=%d STREAM=%d KEEP=%d", vec, threads, unroll, stream, keep);
                c->launch.passes[0].block[0] = (unsigned)threads;
                c->launch.passes[0].grid[0] = (unsigned)grid;
                c->launch.passes[0].n_args = 4;
                c->launch.passes[0].early = g->cc >= 90;
                c->launch.args[0].operand = 1;
                c->launch.args[0].bytes = c->launch.args[1].bytes = 8;
                c->launch.args[2] = (tt__arg){.type = TT__TYPE_I64, .i = bytes, .bytes = 8};
                c->launch.args[3] = (tt__arg){.type = TT__TYPE_I32, .i = stream, .bytes = 4};
                s->n++;
            }
}

static void same_launch(const tt__launch *a, const tt__launch *b) {
    const tt__pass *x = &a->passes[0], *y = &b->passes[0];
    assert_int_equal(a->n_passes, b->n_passes);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(x->grid[i], y->grid[i]);
        assert_int_equal(x->block[i], y->block[i]);
    }
    assert_int_equal(x->shared_bytes, y->shared_bytes);
    assert_int_equal(x->early, y->early);
    assert_int_equal(x->n_args, y->n_args);
    for (int i = 0; i < x->n_args; i++) {
        assert_int_equal(a->args[i].type, b->args[i].type);
        assert_int_equal(a->args[i].bytes, b->args[i].bytes);
        assert_int_equal(a->args[i].operand, b->args[i].operand);
        assert_int_equal(a->args[i].i, b->args[i].i);
    }
}

/* `found` is `expected` with the default moved to the front, if it is there. */
static void same_space(const tt__space *found, const list *expected, const tt__template *t,
                       const tt__gpu *gpu, const tt__problem *p) {
    tt__launch launch;
    size_t at = 0;
    assert_int_equal(found->n, expected->n);
    for (size_t i = 0; i < expected->n; i++)
        if (strcmp(expected->items[i].configuration.config, t->default_config) == 0) {
            assert_string_equal(found->items[0].config, t->default_config);
            assert_int_equal(tt__space_launch(&launch, &found->items[0], gpu, p), TT_OK);
            same_launch(&launch, &expected->items[i].launch);
            at = 1;
        }
    for (size_t i = 0; i < expected->n; i++) {
        if (strcmp(expected->items[i].configuration.config, t->default_config) == 0)
            continue;
        assert_string_equal(found->items[at].config, expected->items[i].configuration.config);
        assert_ptr_equal(found->items[at].t, t);
        assert_int_equal(tt__space_launch(&launch, &found->items[at++], gpu, p), TT_OK);
        same_launch(&launch, &expected->items[i].launch);
    }
}

static void agrees_with_loops(void **state) {
    (void)state;
    static const struct {
        const char *file, *op;
        void (*make)(list *, const tt__gpu *, const tt__problem *);
    } cases[] = {{"transpose_tiled.cu", "transpose", list_tiled}, {"copy_linear.cu", "copy", list_linear}};
    size_t total = 0;
    for (size_t i = 0; i < COUNT(cases) * TEMPLATE_SHAPES * 2; i++) {
        const tt__gpu *gpu = i % 2 ? &template_gpu_small : &template_gpu;
        size_t k = i / 2 / TEMPLATE_SHAPES;
        tt__problem p = template_problem(cases[k].op, i / 2 % TEMPLATE_SHAPES);
        tt__template *t = template_load(cases[k].file);
        tt__space found = {0};
        list expected = {0};
        if (tt__space_add(&found, t, gpu, &p) != TT_OK)
            fail_msg("%s", tt_last_error());
        cases[k].make(&expected, gpu, &p);
        same_space(&found, &expected, t, gpu, &p);
        for (size_t c = 0; c < found.n; c += 37) {
            tt__candidate one;
            assert_int_equal(tt__space_resolve(&one, t, gpu, &p, found.items[c].config), TT_OK);
            assert_string_equal(one.configuration.config, found.items[c].config);
            assert_memory_equal(&one.configuration.pass, &found.items[c].pass, sizeof(tt__pass));
        }
        total += found.n;
        tt__space_free(&found);
        free(expected.items);
        tt__template_free(&t);
    }
    assert_true(total > 1000);
}

/* The numbers themselves, counted on paper. */
static void has_known_sizes(void **state) {
    (void)state;
    tt__template *tiled = template_load("transpose_tiled.cu"), *linear = template_load("copy_linear.cu");
    tt__problem p = template_problem("transpose", 0), copy = template_problem("copy", 0);
    tt__space s = {0};
    /* (TILE_DIM, BLOCK_ROWS): 16 x {4, 8, 16}, 32 x {2..32}, 64 x {2..16}, 128 x 8; x 4 x 4 x 2 */
    assert_int_equal(tt__space_add(&s, tiled, &template_gpu, &p), TT_OK);
    assert_int_equal(s.n, (3 + 5 + 4 + 1) * 32);
    assert_int_equal(tt__space_add(&s, linear, &template_gpu, &p), TT_OK); /* another op adds nothing */
    assert_int_equal(s.n, 416);
    assert_int_equal(tt__space_add(&s, linear, &template_gpu, &copy), TT_OK);
    assert_int_equal(s.n, 416 + (3 * 4 * 4 - 4) * 2 + 4 * 4);
    assert_string_equal(s.items[416].config, linear->default_config);
    tt__space_free(&s);
    tt__template_free(&tiled);
    tt__template_free(&linear);
}

static void knows_words_and_arguments(void **state) {
    (void)state;
    tt__template *t = template_make(
        "//@ param MODE fast slow\n//@ param N 0 1 auto\n//@ where MODE = 'fast' OR N = 'auto'\n"
        "//@ block 8, 4, 2\n//@ grid rows, 2, iif(N = 'auto', 7, N + 1)\n"
        "//@ args src, i32 -cols, dst, f32 1.0 / rows, i64 rows * cols, f32 3\n"
        "//@ default MODE=slow N=auto\n");
    static const char *const order[] = {"MODE=slow N=auto", "MODE=fast N=0", "MODE=fast N=1",
                                        "MODE=fast N=auto"};
    static const unsigned grid_z[] = {7, 1, 2, 7};
    tt__problem p = template_problem("transpose", 3);
    tt__space s = {0};
    tt__problem_set(&p, "rows", 8);
    assert_int_equal(tt__space_add(&s, t, &template_gpu, &p), TT_OK);
    assert_int_equal(s.n, COUNT(order));
    for (size_t i = 0; i < s.n; i++) {
        tt__launch launch, *l = &launch;
        assert_int_equal(tt__space_launch(l, &s.items[i], &template_gpu, &p), TT_OK);
        assert_string_equal(s.items[i].config, order[i]);
        assert_int_equal(l->passes[0].grid[0], 8);
        assert_int_equal(l->passes[0].grid[2], grid_z[i]);
        assert_int_equal(l->passes[0].block[2], 2);
        assert_int_equal(l->passes[0].shared_bytes, 0);
        assert_int_equal(l->args[0].type, TT__TYPE_NONE);
        assert_int_equal(l->args[0].operand, 0);
        assert_int_equal(l->args[1].i, -64);
        assert_int_equal(l->args[2].operand, 1);
        assert_true(l->args[3].type == TT__TYPE_F32 && l->args[3].f == 0.125);
        assert_int_equal(l->args[4].i, 512);
        assert_true(l->args[5].f == 3.0);
    }
    tt__space_free(&s);
    tt__template_free(&t);
}

static const struct {
    size_t shape;
    const char *config;
    tt_status status;
    const char *sentence;
} resolved[] = {
    {0, "UNROLL=2\tPAD=0  TILE_DIM=64 ORDER=1 BLOCK_ROWS=8 ", TT_OK, ""},
    {0, "TILE_DIM=16 BLOCK_ROWS=32 PAD=0 UNROLL=1 ORDER=0", TT_E_UNSUPPORTED,
     "transpose_tiled TILE_DIM=16 BLOCK_ROWS=32 PAD=0 UNROLL=1 ORDER=0 cannot do 8192x8192: "
     "`TILE_DIM % BLOCK_ROWS = 0` does not hold"},
    {0, "TILE_DIM=128 BLOCK_ROWS=32 PAD=0 UNROLL=1 ORDER=0", TT_E_UNSUPPORTED,
     "`TILE_DIM * BLOCK_ROWS BETWEEN 64 AND max_threads_per_block` does not hold"},
    {6, "TILE_DIM=32 BLOCK_ROWS=8 PAD=0 UNROLL=1 ORDER=0", TT_E_UNSUPPORTED,
     "`align >= elem_size` does not hold"},
    {5, "TILE_DIM=128 BLOCK_ROWS=8 PAD=0 UNROLL=1 ORDER=0", TT_E_UNSUPPORTED,
     "is 262144, the limit of shared is 232448"},
    {7, "TILE_DIM=16 BLOCK_ROWS=4 PAD=0 UNROLL=1 ORDER=0", TT_E_UNSUPPORTED,
     "is 187500, the limit of grid.y is 65535"},
    {0, "TILE_DIM=16 BLOCK_ROWS=4 PAD=0 UNROLL=1", TT_E_INVALID, "no value for the parameter ORDER"},
    {0, "TILE_DIM=17 BLOCK_ROWS=4 PAD=0 UNROLL=1 ORDER=0", TT_E_INVALID,
     "17 is no value of TILE_DIM, expected one of 16 32 64 128"},
    {0, "TILE_DMI=16", TT_E_INVALID, "did you mean TILE_DIM?"},
    {0, "TILE_DIM=16 TILE_DIM=16", TT_E_INVALID, "TILE_DIM is given twice"},
    {0, "TILE_DIM", TT_E_INVALID, "found 'TILE_DIM', expected NAME=VALUE"},
    {0, "", TT_E_INVALID, "no value for the parameter TILE_DIM"},
};

static void resolves_and_says_why_not(void **state) {
    (void)state;
    tt__template *t = template_load("transpose_tiled.cu");
    tt__candidate c;
    for (size_t i = 0; i < COUNT(resolved); i++) {
        tt__problem p = template_problem("transpose", resolved[i].shape);
        tt_status status = tt__space_resolve(&c, t, &template_gpu, &p, resolved[i].config);
        if (status != resolved[i].status ||
            (status != TT_OK && !strstr(tt_last_error(), resolved[i].sentence)))
            fail_msg("status %d\n  found    %s\n  expected %s", status, tt_last_error(),
                     resolved[i].sentence);
        if (status == TT_OK)
            assert_string_equal(c.configuration.config, "TILE_DIM=64 BLOCK_ROWS=8 PAD=0 UNROLL=2 ORDER=1");
    }
    tt__problem copy = template_problem("copy", 0);
    assert_int_equal(tt__space_resolve(&c, t, &template_gpu, &copy, t->default_config), TT_E_UNSUPPORTED);
    assert_non_null(strstr(tt_last_error(), "transpose_tiled is a transpose, not a copy"));
    tt__template_free(&t);
}

/* A value that no launch can have is the template's fault: the space stays as it was. */
static void refuses_bad_geometry(void **state) {
    (void)state;
    tt__template *t =
        template_make("//@ param N 4 0\n//@ block 1\n//@ grid rows / N\n//@ args dst\n//@ default N=4\n");
    tt__problem p = template_problem("transpose", 0);
    tt__space s = {0};
    assert_int_equal(tt__space_add(&s, t, &template_gpu, &p), TT_E_TEMPLATE);
    assert_non_null(
        strstr(tt_last_error(), "t.cu:5:10: grid `rows / N` is NULL (a division by zero?) for N=0"));
    assert_int_equal(s.n, 0);
    tt__space_free(&s);
    tt__template_free(&t);
}

/* The objective may be undefined for what the device cannot launch. */
static void weighs_only_what_is_legal(void **state) {
    (void)state;
    static const char text[] =
        "//@ kernel k\n//@ problem n 64\n//@ buffer x f32 n out\n//@ param T 256 2048\n//@ block T\n"
        "//@ grid 1\n//@ args x\n//@ default T=256\n//@ metric cost time_ns * 7168 / (2048 - T)\n"
        "//@ objective minimize cost\nextern \"C\" __global__ void k(float *x) {}\n";
    tt__template *t;
    tt__problem p;
    tt__space s = {0};
    if (tt__template_parse(&t, "t.cu", text) != TT_OK ||
        tt__operation_problem(&p, t->operation, t->op, NULL) != TT_OK ||
        tt__space_add(&s, t, &template_gpu, &p) != TT_OK)
        fail_msg("%s", tt_last_error());
    assert_int_equal(s.n, 1);
    assert_true(s.items[0].weight == 4000); /* of 1000 ns */
    tt__space_free(&s);
    tt__template_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_loops),         cmocka_unit_test(has_known_sizes),
        cmocka_unit_test(knows_words_and_arguments), cmocka_unit_test(resolves_and_says_why_not),
        cmocka_unit_test(refuses_bad_geometry),      cmocka_unit_test(weighs_only_what_is_legal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
