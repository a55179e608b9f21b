/*
 * Launches that are no ordinary ones: cooperative, in clusters, with tensor maps, in loops. The CPU stand-in
 * checks what it is asked for as the driver does, and runs the blocks one after the other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run.h"
#include "write_in.h"

static const char *folder;

static int enter(void **state) {
    (void)state;
    folder = run_enter_on_standins();
    return 0;
}

typedef struct one_case {
    int code;
    const char *says, *line, *instead; /* the text with this line changed; NULL: as it is */
    const char *problem, *cc;
} one_case;

static const char *changed(const one_case *c, const char *text) {
    static char out[8192];
    const char *at = c->line ? strstr(text, c->line) : text;
    assert_non_null(at);
    snprintf(out, sizeof out, "%.*s%s%s", (int)(at - text), text, c->line ? c->instead : "",
             at + (c->line ? strlen(c->line) : 0));
    return out;
}

/* Tunes a kernel from an empty store, and expects the words on standard output or, where it fails, on
 * standard error. */
static void expect(const one_case *c, const char *text) {
    char line[512];
    run_result r;
    write_in(folder, "k.cu", changed(c, text));
    setenv("HOSTCUDA_CC", c->cc ? c->cc : "90", 1);
    snprintf(line, sizeof line, "--kernel %s/k.cu --db :memory:%s%s", folder, c->problem ? " --problem " : "",
             c->problem ? c->problem : "");
    run_tune(&r, &(run_spec){.timeout_s = 240}, line);
    unsetenv("HOSTCUDA_CC");
    assert_code(&r, c->code);
    assert_has(&r, c->code ? r.err : r.out, c->says);
    run_free(&r);
}

static void expect_all(const char *text, const one_case *cases, size_t n) {
    for (size_t i = 0; i < n; i++)
        expect(&cases[i], text);
}

#define EXPECT_ALL(text, cases) expect_all(text, cases, sizeof(cases) / sizeof *(cases))

/* The grid grows with a parameter. The stand-in has 4 SMs of 2048 threads and 32 blocks. */
static const char cooperative[] =
    "//@ kernel    twice\n"
    "//@ problem   n 1000\n"
    "//@ buffer    x f32 n in\n"
    "//@ buffer    y f32 n out\n"
    "//@ param     THREADS 64 512\n"
    "//@ param     EACH 1 4 16\n"
    "//@ launch    cooperative\n"
    "//@ block     THREADS\n"
    "//@ grid      sm_count * EACH\n"
    "//@ args      y, x, i32 n\n"
    "//@ default   THREADS=64 EACH=1\n"
    "//@ reference plain\n"
    "//@ block     64\n"
    "//@ grid      1\n"
    "//@ args      y, x, i32 n\n"
    "extern \"C\" __global__ void twice(float *y, const float *x, int n) {\n"
    "    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) y[i] = 2 * x[i];\n"
    "}\n"
    "extern \"C\" __global__ void plain(float *y, const float *x, int n) {\n"
    "    for (int i = threadIdx.x; i < n; i += 64) y[i] = 2 * x[i];\n"
    "}\n";

static void test_cooperative(void **state) {
    (void)state;
    static const one_case cases[] = {
        {0, "5 of 5 configurations tried, 0 failed", NULL, NULL, NULL, NULL},
        {0, "5 of 5 configurations tried, 0 failed", NULL, NULL, NULL, "80"},
        {0, "4 of 4 configurations tried, 0 failed", NULL, NULL, NULL, "75"},
        {0, "n=1000, in a graph", NULL, NULL, "in_graph", NULL},
        {0, "6 of 6 configurations tried, 0 failed", "//@ launch    cooperative\n", "", NULL, NULL},
        {2,
         "`sm_count * EACH` makes 1600 blocks that wait for each other (`launch cooperative`), and the GPU",
         "THREADS=64 EACH=1", "THREADS=512 EACH=16", NULL, NULL},
        {2, "k.cu:7:15: found 'alone', expected: early or cooperative", "cooperative", "alone", NULL, NULL},
        {2,
         "k.cu:1:15: twice waits for its whole grid (this_grid), so all of its blocks must be on the GPU at",
         "//@ launch    cooperative\n", "//@ where EACH < 4\n", NULL, NULL},
    };
    enum { ORDINARY = 7 };
    static char waits[4096];
    EXPECT_ALL(cooperative, (one_case[]){cases[0]});
    for (int i = 0; i < ORDINARY; i++)
        expect(&cases[i], cooperative);
    static const char *const ways[] = {
        "cooperative_groups::this_grid().sync(); y[i]",
        "auto g = cooperative_groups::this_grid(); g.sync(); y[i]",
        "cg::grid_group whole = cg::this_grid(); cg::sync(whole); y[i]",
        "cg::sync(cg::this_grid()); y[i]",
        "auto g = cg::this_grid(); g.barrier_wait(g.barrier_arrive()); y[i]",
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const one_case c = {0, NULL, "y[i]", ways[i], NULL, NULL};
        snprintf(waits, sizeof waits, "%s", changed(&c, cooperative));
        expect(&cases[ORDINARY], waits);
    }
}

static const char cluster[] =
    "//@ kernel    twice\n"
    "//@ problem   n 1024\n"
    "//@ buffer    y f32 n inout\n"
    "//@ param     THREADS 32 64\n"
    "//@ param     BLOCKS 1 2 8 16\n"
    "//@ block     THREADS\n"
    "//@ grid      n / THREADS\n"
    "//@ cluster   BLOCKS\n"
    "//@ args      y\n"
    "//@ default   THREADS=32 BLOCKS=2\n"
    "//@ reference plain\n"
    "//@ block     64\n"
    "//@ grid      n / 64\n"
    "//@ args      y\n"
    "extern \"C\" __global__ void twice(float *y) { y[blockIdx.x * THREADS + threadIdx.x] *= 2; }\n"
    "extern \"C\" __global__ void plain(float *y) { y[blockIdx.x * 64 + threadIdx.x] *= 2; }\n";

static void test_cluster(void **state) {
    (void)state;
    static const one_case cases[] = {
        {0, "8 of 8 configurations tried, 0 failed", NULL, NULL, NULL, NULL},
        {0, "3 of 3 configurations tried, 0 failed", NULL, NULL, "n=192", NULL},
        {1, "no configuration is legal for it", NULL, NULL, NULL, "89"},
        {2, "makes a grid of 32x1x1 blocks, which is no multiple of the cluster of 3x1x1", "cluster   BLOCKS",
         "cluster 3", NULL, NULL},
        {2, "`17` is 17, the limit of cluster.x is 16", "cluster   BLOCKS", "cluster 17", NULL, NULL},
        {2, "`4` makes clusters of 32 blocks, the limit is 16", "cluster   BLOCKS", "cluster 4, 8", NULL,
         NULL},
        {2, "cluster `BLOCKS - 2` is 0", "cluster   BLOCKS", "cluster BLOCKS - 2", NULL, NULL},
        {2,
         "twice works in clusters of blocks (this_cluster), and nothing says how large they are: add a line "
         "such as //@ cluster 2",
         "//@ cluster   BLOCKS\n", "", NULL, NULL},
    };
    enum { LAST = sizeof cases / sizeof *cases - 1 };
    static char works[4096];
    for (int i = 0; i < LAST; i++)
        expect(&cases[i], cluster);
    const one_case c = {0, NULL, "{ y", "{ cooperative_groups::this_cluster().sync(); y", NULL, NULL};
    snprintf(works, sizeof works, "%s", changed(&c, cluster));
    expect(&cases[LAST], works);
}

/* The stand-in notes what it was told of the map, and the kernel copies by that. */
static const char tensor_map[] =
    "//@ kernel    moved\n"
    "//@ problem   rows 100\n"
    "//@ problem   cols 96\n"
    "//@ type      T f32 u8 bf16\n"
    "//@ buffer    x T rows * cols in\n"
    "//@ buffer    y T rows * cols out\n"
    "//@ param     BX 16 32 96\n"
    "//@ param     SWIZZLE 0 128\n"
    "//@ tensormap map x (cols, rows) box (BX, 4) swizzle SWIZZLE l2 128 fill nan\n"
    "//@ block     32\n"
    "//@ grid      cols / BX, ceil_div(rows, 4)\n"
    "//@ args      y, map, i32 cols, i32 rows\n"
    "//@ default   BX=32 SWIZZLE=0\n"
    "//@ reference plain\n"
    "//@ block     32\n"
    "//@ grid      1\n"
    "//@ args      y, x, i32 cols, i32 rows\n"
    "#include <stdint.h>\n"
    "extern \"C\" __global__ void moved(T *y, const __grid_constant__ CUtensorMap map, int cols, int rows) "
    "{\n"
    "    const unsigned type = sizeof(T) == 1 ? 0 : sizeof(T) == 4 ? 7 : 9;\n"
    "    if (map.hostcuda_dims[0] != cols || map.hostcuda_dims[1] != rows || map.hostcuda_rank != 2 ||\n"
    "        map.hostcuda_strides[0] != sizeof(T) * cols || map.hostcuda_box[0] != BX ||\n"
    "        map.hostcuda_box[1] != 4 || map.hostcuda_swizzle != (SWIZZLE ? 3 : 0) || map.hostcuda_fill != 1 "
    "||\n"
    "        map.hostcuda_type != type || map.hostcuda_steps[1] != 1 || map.hostcuda_l2 != 2)\n"
    "        return;\n"
    "    const T *x = (const T *)map.hostcuda_at;\n"
    "    for (int r = blockIdx.y * 4; r < (blockIdx.y + 1) * 4 && r < rows; r++)\n"
    "        for (int c = blockIdx.x * BX + threadIdx.x; c < (blockIdx.x + 1) * BX; c += 32)\n"
    "            y[r * cols + c] = x[r * cols + c];\n"
    "}\n"
    "extern \"C\" __global__ void plain(T *y, const T *x, int cols, int rows) {\n"
    "    for (int i = threadIdx.x; i < rows * cols; i += 32) y[i] = x[i];\n"
    "}\n";

static void test_tensor_maps(void **state) {
    (void)state;
    static const one_case cases[] = {
        /* 96 floats are more than a swizzle of 128 bytes can have */
        {0, "5 of 5 configurations tried, 0 failed", NULL, NULL, NULL, NULL},
        {0, "6 of 6 configurations tried, 0 failed", NULL, NULL, "T=u8", NULL},
        {0, "5 of 5 configurations tried, 0 failed", NULL, NULL, "T=bf16,rows=1", NULL},
        {0, "5 of 5 configurations tried, 0 failed", "swizzle SWIZZLE",
         "steps (1, 1) strides (cols) swizzle SWIZZLE", NULL, NULL},
        {1, "wrong_result: first wrong element", "(cols, rows)", "(cols, rows - 1)", NULL, NULL},
        {1, "no configuration is legal for it", NULL, NULL, NULL, "80"},
        {1, "no configuration is legal for it", NULL, NULL, "T=u8,cols=100", NULL},
    };
    static const one_case refused[] = {
        {2, "`rows + 1` makes a tensor map of 9696 elements, and x has 9600", "(cols, rows)",
         "(cols, rows + 1)", NULL, NULL},
        {2, "k.cu:9:15: map has no box, the part of the buffer that one copy moves", "box (BX, 4)", "", NULL,
         NULL},
        {2, "k.cu:9:38: 1 values, expected 2, one for each dimension", "(BX, 4)", "(BX)", NULL, NULL},
        {2, "k.cu:9:38: found 'BX', expected the elements of a box in parentheses", "(BX, 4)", "BX", NULL,
         NULL},
        {2, "2 values, expected 1: the first dimension has none", "swizzle SWIZZLE", "strides (1, cols)",
         NULL, NULL},
        {2, "found 'one', expected: fill zero or nan", "fill nan", "fill one", NULL, NULL},
        {2, "k.cu:9:19: `tensormap` describes a buffer, and z is none", "map x", "map z", NULL, NULL},
        {2, "`BX + 1` makes rows of a box of 132 bytes, expected a multiple of 16", "(BX, 4)", "(BX + 1, 4)",
         NULL, NULL},
        {2, "`128 * BX` is 4096, the limit of a box is 256", "(BX, 4)", "(128 * BX, 4)", NULL, NULL},
        {2, "`tensormap` has an empty expression", "swizzle SWIZZLE l2 128 fill nan", "swizzle", NULL, NULL},
        {2, "`48` is 48, expected 0, 32, 64 or 128", "swizzle SWIZZLE", "swizzle 48", NULL, NULL},
        {2,
         "`cols + 1` makes rows that are 388 bytes apart, expected a multiple of 16 below 2^40: give "
         "`strides`",
         "(cols, rows)", "(cols + 1, rows - 1)", NULL, NULL},
        {2, "x is an operand, choose another name", "tensormap map", "tensormap x", NULL, NULL},
        {2, "moved takes a CUtensorMap: make one with a line such as //@ tensormap map x", "y, map, i32",
         "y, x, i32", NULL, NULL},
    };
    EXPECT_ALL(tensor_map, cases);
    EXPECT_ALL(tensor_map, refused);
}

/* Buffers and scalars inside a struct, which change places from launch to launch. */
static const char in_struct[] =
    "//@ kernel    step\n"
    "//@ problem   n 1000\n"
    "//@ problem   steps 4\n"
    "//@ buffer    a f32 n inout\n"
    "//@ buffer    b f32 n scratch\n"
    "//@ scalar    s f32 0.5\n"
    "//@ param     THREADS 32 64\n"
    "//@ block     THREADS\n"
    "//@ grid      ceil_div(n, THREADS)\n"
    "//@ repeat    steps\n"
    "//@ swap      a b\n"
    "//@ args      struct (i32 n, b, u8 7, s, a)\n"
    "//@ default   THREADS=32\n"
    "//@ reference plain\n"
    "//@ block     32\n"
    "//@ grid      1\n"
    "//@ args      a, i32 n, i32 steps\n"
    "struct all { int n; float *to; unsigned char seven; float s; const float *from; };\n"
    "extern \"C\" __global__ void step(all p) {\n"
    "    const int i = blockIdx.x * THREADS + threadIdx.x;\n"
    "    if (i < p.n) p.to[i] = p.from[i] * p.s + p.seven;\n"
    "}\n"
    "extern \"C\" __global__ void plain(float *a, int n, int steps) {\n"
    "    for (int i = threadIdx.x; i < n; i += 32) for (int k = 0; k < steps; k++) a[i] = a[i] * 0.5f + 7;\n"
    "}\n";

static void test_buffers_in_structs(void **state) {
    (void)state;
    static const one_case cases[] = {
        {0, "2 of 2 configurations tried, 0 failed", NULL, NULL, NULL, NULL},
        {1, "wrong_result", "s, a)", "f32 0.25, a)", NULL, NULL},
        {1, "wrong_result", "steps 4", "steps 5", NULL, NULL}, /* the last result is in b */
        {2, "k.cu:12:42: found 'c', expected a, b or a type and an expression", "s, a)", "s, c)", NULL, NULL},
        {2, "expected a type and a value, as in i32 n, or the name of a buffer or scalar", "s, a)",
         "s, a + 1)", NULL, NULL},
    };
    EXPECT_ALL(in_struct, cases);
}

/* Gaussian elimination: two kernels in one loop, and the number of its turn. */
static const char loop[] =
    "//@ kernel    factors\n"
    "//@ problem   n 40\n"
    "//@ buffer    a f64 n * n inout uniform 1 2\n"
    "//@ buffer    m f64 n * n scratch\n"
    "//@ param     THREADS 32 64\n"
    "//@ block     THREADS\n"
    "//@ grid      ceil_div(n, THREADS)\n"
    "//@ args      m, a, i32 n, i32 t\n"
    "//@ repeat    n - 1 as t\n"
    "//@ kernel    subtract\n"
    "//@ block     THREADS\n"
    "//@ grid      ceil_div(n * n, THREADS)\n"
    "//@ args      a, m, i32 n, i32 t\n"
    "//@ repeat    together\n"
    "//@ default   THREADS=32\n"
    "//@ tolerance rel 1e-3\n"
    "//@ reference plain\n"
    "//@ block     1\n"
    "//@ grid      1\n"
    "//@ args      a, i32 n\n"
    "extern \"C\" __global__ void factors(double *m, const double *a, int n, int t) {\n"
    "    const int i = blockIdx.x * THREADS + threadIdx.x;\n"
    "    if (i > t && i < n) m[i * n + t] = a[i * n + t] / a[t * n + t];\n"
    "}\n"
    "extern \"C\" __global__ void subtract(double *a, const double *m, int n, int t) {\n"
    "    const int k = blockIdx.x * THREADS + threadIdx.x, i = k / n, j = k % n;\n"
    "    if (k < n * n && i > t && j >= t) a[k] -= m[i * n + t] * a[t * n + j];\n"
    "}\n"
    "extern \"C\" __global__ void plain(double *a, int n) {\n"
    "    for (int t = 0; t < n - 1; t++)\n"
    "        for (int i = t + 1; i < n; i++) {\n"
    "            const double f = a[i * n + t] / a[t * n + t];\n"
    "            for (int j = t; j < n; j++) a[i * n + j] -= f * a[t * n + j];\n"
    "        }\n"
    "}\n";

/* The numbers of the turns, written down. */
static const char turns[] = "//@ kernel    note\n"
                            "//@ problem   n 5\n"
                            "//@ buffer    y i32 4096 inout zeros\n"
                            "//@ buffer    at i32 1 inout zeros\n"
                            "//@ block     1\n"
                            "//@ grid      1\n"
                            "//@ args      y, at, i32 k\n"
                            "//@ repeat    n as k from 3 by 2\n"
                            "//@ reference plain\n"
                            "//@ block     1\n"
                            "//@ grid      1\n"
                            "//@ args      y, at, i32 n\n"
                            "#define START 3\n"
                            "#define NEXT(k) k + 2\n"
                            "extern \"C\" __global__ void note(int *y, int *at, int k) { y[(*at)++] = k; }\n"
                            "extern \"C\" __global__ void plain(int *y, int *at, int n) {\n"
                            "    for (int k = START; *at < n; k = NEXT(k)) y[(*at)++] = k;\n"
                            "}\n";

/* A reference of several launches: the second does what the first leaves. */
static const one_case references[] = {
    {0, "2 of 2 configurations tried, 0 failed", NULL, NULL, NULL, NULL},
    {1, "wrong_result", "//@ grid      4\n", "//@ grid      3\n", NULL, NULL},
    {2, "`reference default` stands alone", "reference half", "reference default\n//@ reference half", NULL,
     NULL},
    {2, "twice is what is tuned, and cannot say itself what is right", "reference half", "reference twice",
     NULL, NULL},
};
static const char in_halves[] = "//@ kernel    twice\n"
                                "//@ problem   n 256\n"
                                "//@ buffer    y f32 n inout\n"
                                "//@ param     B 32 64\n"
                                "//@ block     B\n"
                                "//@ grid      n / B\n"
                                "//@ args      y, i32 0\n"
                                "//@ default   B=32\n"
                                "//@ reference half\n"
                                "//@ block     32\n"
                                "//@ grid      4\n"
                                "//@ args      y, i32 0\n"
                                "//@ reference twice\n"
                                "//@ block     B\n"
                                "//@ grid      128 / B\n"
                                "//@ args      y, i32 128\n"
                                "extern \"C\" __global__ void twice(float *y, int from) { y[from + "
                                "blockIdx.x * B + threadIdx.x] *= 2; }\n"
                                "extern \"C\" __global__ void half(float *y, int from) { y[from + blockIdx.x "
                                "* 32 + threadIdx.x] *= 2; }\n";

static void test_references(void **state) {
    (void)state;
    EXPECT_ALL(in_halves, references);
}

static void test_loops(void **state) {
    (void)state;
    static const one_case elimination[] = {
        {0, "2 of 2 configurations tried, 0 failed", NULL, NULL, NULL, NULL},
        {1, "wrong_result", "i32 t\n//@ repeat    together\n", "i32 u\n//@ repeat n - 1 as u\n", NULL, NULL},
    };
    static const one_case cases[] = {
        {0, "1 of 1 configurations tried, 0 failed", NULL, NULL, NULL, NULL},
        {0, "1 of 1 configurations tried, 0 failed", NULL, NULL, "n=1", NULL},
        {0, "1 of 1 configurations tried, 0 failed", NULL, NULL, "n=4096", NULL},
        {1, "no configuration is legal for it", NULL, NULL, "n=4097", NULL},
        {1, "wrong_result", "from 3 by 2", "from 3 by 1", NULL, NULL},
        {1, "wrong_result", "from 3 by 2", "", NULL, NULL},
        {2,
         "k.cu:6:15: k is of a `repeat`, and changes from launch to launch: only an item of `args` can be "
         "it, as "
         "in i32 k",
         "grid      1", "grid      k + 1", NULL, NULL},
        {2, "`repeat together` joins the loop of the kernel above, and there is none", "n as k from 3 by 2",
         "together", NULL, NULL},
        {2, "found 'of 3' after k, expected: from START, and by STEP, times FACTOR or over DIVISOR",
         "from 3 by 2", "of 3 by 2", NULL, NULL},
        {2, "`by` stands at the end, expected a number after it", "by 2", "by", NULL, NULL},
        {2, "repeat `n - 5` is 0 for", "by 2", "by n - 5", NULL, NULL},
        {2, "`k` is -1, which does not fit u32", "i32 k\n//@ repeat    n as k from 3 by 2",
         "u32 k\n//@ repeat n as k from 3 by -1", NULL, NULL},
        {2, "`k` is 300, the limit of i8 is 127", "i32 k\n//@ repeat    n as k from 3 by 2",
         "i8 k\n//@ repeat n as k from 300 over 7", NULL, NULL},
        {2, "n is a variable of the problem, choose another name", "as k", "as n", NULL, NULL},
        {2, "`40` makes numbers of turns that leave 32 bits", "i32 k\n//@ repeat    n as k from 3 by 2",
         "i64 k\n//@ repeat 40 as k from 1 times 2", NULL, NULL},
    };
    static const struct {
        const char *annotation, *start, *next;
    } sequences[] = {
        {"", "START 0", "NEXT(k) k + 1"},
        {"from 7", "START 7", "NEXT(k) k + 1"},
        {"by -3", "START 0", "NEXT(k) k - 3"},
        {"from 1 times 2", "START 1", "NEXT(k) k * 2"},
        {"from 1000 * n over 2", "START 1000 * n", "NEXT(k) k / 2"},
    };
    EXPECT_ALL(loop, elimination);
    EXPECT_ALL(turns, cases);
    for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++) {
        static char text[8192], next[8192];
        const one_case first = {0, NULL, "START 3", sequences[i].start, NULL, NULL};
        const one_case second = {0, NULL, "NEXT(k) k + 2", sequences[i].next, NULL, NULL};
        snprintf(text, sizeof text, "%s", changed(&first, turns));
        snprintf(next, sizeof next, "%s", changed(&second, text));
        expect(&(one_case){0, "1 of 1 configurations tried, 0 failed", "from 3 by 2", sequences[i].annotation,
                           NULL, NULL},
               next);
    }
}

/* Variables that are 0 and -1 in a search, the store, exports, replays and stores that were put together. */
static const char flags[] =
    "//@ kernel    flagged\n"
    "//@ problem   window -1\n"
    "//@ problem   causal 1 from 0\n"
    "//@ problem   n 1000\n"
    "//@ buffer    y f32 n inout\n"
    "//@ param     B 32 64\n"
    "//@ block     B\n"
    "//@ grid      ceil_div(n, B)\n"
    "//@ args      y, i32 window, i32 causal, i32 n\n"
    "//@ default   B=32\n"
    "//@ reference plain\n"
    "//@ block     1\n"
    "//@ grid      1\n"
    "//@ args      y, i32 window, i32 causal, i32 n\n"
    "extern \"C\" __global__ void flagged(float *y, int window, int causal, int n) {\n"
    "    const int i = blockIdx.x * B + threadIdx.x;\n"
    "    if (i < n && (window < 0 || i < window)) y[i] = causal ? y[i] + 1 : y[i] * 2;\n"
    "}\n"
    "extern \"C\" __global__ void plain(float *y, int window, int causal, int n) {\n"
    "    for (int i = 0; i < n; i++) if (window < 0 || i < window) y[i] = causal ? y[i] + 1 : y[i] * 2;\n"
    "}\n";

/* Runs a line, in which @ stands for the folder. */
static void says(int code, const char *expected, const char *line) {
    char whole[1024];
    size_t n = 0;
    run_result r;
    for (const char *at = line; *at; at++)
        n += (size_t)(*at == '@' ? snprintf(whole + n, sizeof whole - n, "%s", folder)
                                 : snprintf(whole + n, sizeof whole - n, "%c", *at));
    run_tune(&r, &(run_spec){.timeout_s = 240}, whole);
    assert_code(&r, code);
    assert_has(&r, code ? r.err : r.out, expected);
    run_free(&r);
}

static void test_flags(void **state) {
    (void)state;
    static const one_case refused[] = {
        {2, "causal is -1: it must be a whole number of at least 0", NULL, NULL, "causal=-1", NULL},
        {2, "window is -2: it must be a whole number of at least -1", NULL, NULL, "window=-2", NULL},
        {2, "n is 0: it must be a whole number of at least 1", NULL, NULL, "n=0", NULL},
        {2, "k.cu:3:29: causal is to start at '2', expected 0 or -1 (else it starts at 1)", "from 0",
         "from 2", NULL, NULL},
        {2, "grid `ceil_div(n, B)` is 0 for B=32 and window=-1, causal=1, n=0, expected an integer of 1",
         "n 1000", "n 0", NULL, NULL},
    };
    EXPECT_ALL(flags, refused);
    write_in(folder, "f.cu", flags);
    says(0, "window=-1, causal=1, n=1000", "--kernel @/f.cu --db @/f.db");
    says(0, "window=0, causal=0, n=1000", "--kernel @/f.cu --db @/f.db --problem window=0,causal=0");
    says(0, "match          exact",
         "best --kernel @/f.cu --db @/f.db --gpu hostcuda --problem window=0,causal=0");
    says(0, "match          nearest",
         "best --kernel @/f.cu --db @/f.db --gpu hostcuda --problem window=5,causal=0");
    run_result r;
    char line[256];
    snprintf(line, sizeof line, "export --db %s/f.db --gpu hostcuda --output %s/f.json", folder, folder);
    run_tune(&r, &(run_spec){.timeout_s = 240}, line);
    assert_code(&r, 0);
    run_free(&r);
    says(0, "2 winners", "import @/f.json --db @/g.db");
    says(0, "window=0, causal=0, n=1000", "list --db @/g.db");
    says(0, "0 failed", "--device replay:@/f.json --kernel @/f.cu --problem window=0,causal=0");
    says(0, "2 winners", "merge @/h.db @/f.db @/g.db");
    says(0, "is whole: 1 GPU, 2 winners", "check --db @/h.db");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cooperative), cmocka_unit_test(test_cluster),
        cmocka_unit_test(test_tensor_maps), cmocka_unit_test(test_buffers_in_structs),
        cmocka_unit_test(test_loops),       cmocka_unit_test(test_flags),
        cmocka_unit_test(test_references),
    };
    return cmocka_run_group_tests_name("cli-launches", tests, enter, run_leave);
}
