/*
 * What annotations can say beyond one plain kernel: launches that are repeated or left out, buffers that
 * change places, input data that mean something, tolerances by scale. Tuned and verified on the CPU stand-in.
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

/* Tunes a kernel from an empty store, and expects the words on standard output or, where it fails, on
 * standard error. */
static void expect(int code, const char *says, const char *text, const char *problem) {
    char line[512];
    run_result r;
    write_in(folder, "k.cu", text);
    snprintf(line, sizeof line, "--kernel %s/k.cu --db :memory:%s%s", folder, *problem ? " --problem " : "",
             problem);
    run_tune(&r, &(run_spec){.timeout_s = 240}, line);
    assert_code(&r, code);
    assert_has(&r, code ? r.err : r.out, says);
    run_free(&r);
}

/* Steps of a heat equation between two buffers. A second kernel looks at the data, and the reference says
 * that they are as they should be. */
static const char heat[] =
    "//@ kernel    step\n"
    "//@ problem   n 1000\n"
    "//@ problem   steps 5\n"
    "//@ buffer    a f32 n inout uniform 0 10\n"
    "//@ buffer    b f32 n inout a\n"
    "//@ buffer    order u32 n in permutation\n"
    "//@ buffer    rising u32 n in sorted\n"
    "//@ buffer    bounded i32 n in sorted -5 n\n"
    "//@ buffer    ok u32 1 inout zeros\n"
    "//@ param     BLOCK 32 64\n"
    "//@ param     LAST 0 1\n"
    "//@ block     BLOCK\n"
    "//@ grid      ceil_div(n, BLOCK)\n"
    "//@ args      b, a, i32 n\n"
    "//@ repeat    steps\n"
    "//@ swap      a b\n"
    "//@ kernel    check\n"
    "//@ when      LAST\n"
    "//@ block     32\n"
    "//@ grid      1\n"
    "//@ args      ok, order, rising, bounded, i32 n\n"
    "//@ kernel    check\n"
    "//@ when      LAST = 0\n"
    "//@ block     64\n"
    "//@ grid      1\n"
    "//@ args      ok, order, rising, bounded, i32 n\n"
    "//@ default   BLOCK=32 LAST=0\n"
    "//@ reference whole\n"
    "//@ block     32\n"
    "//@ grid      1\n"
    "//@ args      a, b, ok, i32 n, i32 steps\n"
    "//@ tolerance scale 1e-6\n"
    "static __device__ float at(const float *a, int i, int n) { return i < 0 || i >= n ? 0 : a[i]; }\n"
    "extern \"C\" __global__ void step(float *b, const float *a, int n) {\n"
    "    const int i = blockIdx.x * BLOCK + threadIdx.x;\n"
    "    if (i < n)\n"
    "        b[i] = 0.25f * at(a, i - 1, n) + 0.5f * a[i] + 0.25f * at(a, i + 1, n);\n"
    "}\n"
    "extern \"C\" __global__ void check(unsigned *ok, const unsigned *order, const unsigned *rising, const "
    "int *bounded, int n) {\n"
    "    unsigned long long sum = 0, squares = 0; unsigned good = 1;\n"
    "    if (threadIdx.x) return;\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        sum += order[i]; squares += (unsigned long long)order[i] * order[i];\n"
    "        good &= rising[i] == i && (i == 0 || bounded[i - 1] <= bounded[i]) && bounded[i] >= -5 && "
    "bounded[i] <= n;\n"
    "    }\n"
    "    const unsigned long long m = n;\n"
    "    *ok = good && sum == m * (m - 1) / 2 && squares == (m - 1) * m * (2 * m - 1) / 6 && order[0] + "
    "order[1] + order[2] != 3;\n"
    "}\n"
    "extern \"C\" __global__ void whole(float *a, float *b, unsigned *ok, int n, int steps) {\n"
    "    if (threadIdx.x) return;\n"
    "    for (int s = 0; s < steps; s++) {\n"
    "        float *to = s % 2 ? a : b; const float *from = s % 2 ? b : a;\n"
    "        for (int i = 0; i < n; i++)\n"
    "            to[i] = 0.25f * at(from, i - 1, n) + 0.5f * from[i] + 0.25f * at(from, i + 1, n);\n"
    "    }\n"
    "    *ok = 1;\n"
    "}\n";

/* Launches in a graph: several kernels, one of them repeated, between buffers that need no restoring. */
static const char smooth[] =
    "//@ kernel    start\n"
    "//@ problem   n 300\n"
    "//@ problem   steps 4\n"
    "//@ buffer    x f32 n in\n"
    "//@ buffer    a f32 n out\n"
    "//@ buffer    b f32 n scratch\n"
    "//@ param     BLOCK 32 64\n"
    "//@ block     BLOCK\n"
    "//@ grid      ceil_div(n, BLOCK)\n"
    "//@ args      a, x, i32 n\n"
    "//@ kernel    step\n"
    "//@ block     BLOCK\n"
    "//@ grid      ceil_div(n, BLOCK)\n"
    "//@ args      b, a, i32 n\n"
    "//@ repeat    steps\n"
    "//@ swap      a b\n"
    "//@ default   BLOCK=32\n"
    "//@ reference whole\n"
    "//@ block     32\n"
    "//@ grid      1\n"
    "//@ args      a, x, i32 n, i32 steps\n"
    "extern \"C\" __global__ void start(float *a, const float *x, int n) {\n"
    "    const int i = blockIdx.x * BLOCK + threadIdx.x;\n"
    "    if (i < n)\n"
    "        a[i] = x[i];\n"
    "}\n"
    "extern \"C\" __global__ void step(float *b, const float *a, int n) {\n"
    "    const int i = blockIdx.x * BLOCK + threadIdx.x;\n"
    "    if (i < n)\n"
    "        b[i] = a[i] + 1;\n"
    "}\n"
    "extern \"C\" __global__ void whole(float *a, const float *x, int n, int steps) {\n"
    "    for (int i = threadIdx.x; i < n; i += 32) {\n"
    "        a[i] = x[i];\n"
    "        for (int s = 0; s < steps; s++)\n"
    "            a[i] = a[i] + 1;\n"
    "    }\n"
    "}\n";

static void test_graphs(void **state) {
    (void)state;
    expect(0, "n=300, steps=4, in a graph", smooth, "in_graph");
    expect(0, "n=300, steps=4, warm, in a graph", smooth, "warm,in_graph");
    expect(1, "a is `inout`, so it is restored before each launch", heat, "in_graph");
}

static void test_pipelines(void **state) {
    (void)state;
    static const char *const problems[] = {"n=1000,steps=5", "n=333,steps=1", "n=500,steps=62"};
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        expect(0, "0 failed", heat, problems[i]);
    expect(1, "no configuration is legal for it", heat, "steps=4097");
    expect(1, "no configuration is legal for it", heat, "steps=4096"); /* and the look at the data */
}

/* The text with one line changed. */
static char *changed(const char *text, const char *line, const char *instead) {
    static char out[8192];
    const char *at = strstr(text, line);
    assert_non_null(at);
    snprintf(out, sizeof out, "%.*s%s%s", (int)(at - text), text, instead, at + strlen(line));
    return out;
}

static void test_refuses(void **state) {
    (void)state;
    static const struct {
        int code;
        const char *line, *instead, *says;
    } cases[] = {
        {2, "swap      a b", "swap a order",
         "k.cu:16: `swap` names order, expected an out, inout or scratch buffer"},
        {2, "swap      a b", "swap a ok",
         "k.cu:16: a and ok change places, but one has 4000 bytes and the other 4"},
        {2, "swap      a b", "swap a", "k.cu:16:"},
        {2, "repeat    steps", "repeat -steps", "k.cu:15:12: repeat `-steps` is -5"},
        {2, "u32 n in permutation", "f32 n in permutation",
         "permutation needs a type of whole numbers, and f32 is none"},
        {2, "sorted -5 n", "sorted n -5", "the lower end of bounded is 1000, above the upper end -5"},
        {2, "sorted -5 n", "sorted -5 m", "unknown name m"},
        {2, "scale 1e-6", "scale 0.7", "with a scale of 0.7 wrong results would pass"},
        {1, "0.25f * at(a, i + 1, n)", "0.2499f * at(a, i + 1, n)", "first wrong element at"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i].code, cases[i].says, changed(heat, cases[i].line, cases[i].instead), "");
}

/* Sums of blocks, whose number and values depend on BLOCK. Input is made by an expression and a kernel of the
 * file. BAD writes behind the scratch of its configuration, which is not the largest. */
static const char sums[] =
    "//@ kernel    partial\n"
    "//@ problem   n 100000\n"
    "//@ buffer    x f32 n in index i % 7 + (i < n ? 0 : 1)\n"
    "//@ buffer    pairs f32 2 * n in\n"
    "//@ buffer    tmp f32 ceil_div(n, BLOCK) scratch\n"
    "//@ buffer    sums f32 ceil_div(n, BLOCK) out\n"
    "//@ param     BLOCK 32 64 128\n"
    "//@ param     BAD 0 1\n"
    "//@ block     BLOCK\n"
    "//@ grid      ceil_div(n, BLOCK)\n"
    "//@ args      sums, tmp, x, pairs, i32 n\n"
    "//@ default   BLOCK=64 BAD=0\n"
    "//@ data      pair\n"
    "//@ block     256\n"
    "//@ grid      ceil_div(n, 256)\n"
    "//@ args      pairs, x, i32 n\n"
    "//@ reference partial_reference\n"
    "//@ per       configuration\n"
    "//@ block     BLOCK\n"
    "//@ grid      ceil_div(ceil_div(n, BLOCK), BLOCK)\n"
    "//@ args      sums, x, i32 n\n"
    "//@ verify    total\n"
    "//@ block     1\n"
    "//@ grid      1\n"
    "//@ args      sums, x, error, i32 n\n"
    "//@ limit     1e-3\n"
    "//@ tolerance rel 1e-5\n"
    "extern \"C\" __global__ void pair(float *p, const float *x, int n) { int i = blockIdx.x * 256 + "
    "threadIdx.x; if (i < n) { p[2*i] = x[i]; p[2 * i + 1] = -x[i]; } }\n"
    "extern \"C\" __global__ void partial(float *sums, float *tmp, const float *x, const float *pairs, int "
    "n) {\n"
    "    if (threadIdx.x) return;\n"
    "    float s = 0;\n"
    "    for (int i = blockIdx.x * BLOCK; i < (blockIdx.x + 1) * BLOCK && i < n; i++) { s += x[i]; if "
    "(pairs[2*i] != i % 7 || pairs[2*i+1] != -x[i]) s += 1e6; }\n"
    "    sums[blockIdx.x] = s;\n"
    "    tmp[blockIdx.x + BAD] = s;\n"
    "}\n"
    "extern \"C\" __global__ void partial_reference(float *sums, const float *x, int n) {\n"
    "    int k = blockIdx.x * BLOCK + threadIdx.x;\n"
    "    if (k * BLOCK >= n) return;\n"
    "    float s = 0;\n"
    "    for (int i = k * BLOCK; i < n && i < (k + 1) * BLOCK; i++) s += x[i];\n"
    "    sums[k] = s;\n"
    "}\n"
    "extern \"C\" __global__ void total(const float *sums, const float *x, double *error, int n) {\n"
    "    double a = 0, b = 0;\n"
    "    for (int i = 0; i < n; i++) a += i % 7;\n"
    "    for (int i = 0; i < (n + BLOCK - 1) / BLOCK; i++) b += sums[i];\n"
    "    *error = (a > b ? a - b : b - a) / a;\n"
    "}\n";

/* A buffer that is restored, and whose length depends on a parameter. No reference says what it holds. */
static const char counts[] =
    "//@ kernel    count\n"
    "//@ problem   n 1000\n"
    "//@ buffer    parts u32 ceil_div(n, BLOCK) inout zeros\n"
    "//@ param     BLOCK 32 64 96\n"
    "//@ block     BLOCK\n"
    "//@ grid      ceil_div(n, BLOCK)\n"
    "//@ args      parts, i32 n\n"
    "//@ default   BLOCK=64\n"
    "//@ verify    difference\n"
    "//@ block     1\n"
    "//@ grid      1\n"
    "//@ args      error, parts, i32 n\n"
    "extern \"C\" __global__ void count(unsigned *parts, int n) {\n"
    "    if (blockIdx.x * BLOCK + threadIdx.x < n) atomicAdd(&parts[blockIdx.x], 1u);\n"
    "}\n"
    "extern \"C\" __global__ void difference(double *error, const unsigned *parts, int n) {\n"
    "    const int last = (n + BLOCK - 1) / BLOCK;\n"
    "    for (int i = 0; i < last; i++) n -= parts[i];\n"
    "    *error = n < 0 ? -n : n;\n"
    "}\n";

/* Elements and arguments of all kinds. Wherever one is not what its line says, y is wrong. */
static const char mix[] =
    "//@ kernel    mix\n"
    "//@ problem   n 1000\n"
    "//@ buffer    v f32x4 n in index i % 13\n"
    "//@ buffer    s u8x24 n in\n"
    "//@ buffer    flags bool n in\n"
    "//@ buffer    y f32 n out\n"
    "//@ scalar    h f16 0.333333\n"
    "//@ scalar    g bf16 -1.5\n"
    "//@ scalar    on bool 1\n"
    "//@ scalar    tiny i8 -7\n"
    "//@ param     SCALE 0.5f 2.0 1e1\n"
    "//@ param     FMAD true false\n"
    "//@ options   --fmad={FMAD} -DTWICE={SCALE}\n"
    "//@ block     64\n"
    "//@ grid      ceil_div(n, 64)\n"
    "//@ args      y, v, s, flags, h, g, on, tiny, 3, 2.5f, 0.25, true, 4000000000u, i16 -2, f16 SCALE, i32 "
    "n\n"
    "//@ default   SCALE=2.0 FMAD=true\n"
    "//@ reference plain\n"
    "//@ per       configuration\n"
    "//@ block     1\n"
    "//@ grid      1\n"
    "//@ args      y, s, flags, i32 n, f32 SCALE\n"
    "//@ tolerance rel 1e-5\n"
    "struct rec { double d; int k[4]; };\n"
    "struct alignas(16) four { float x, y, z, w; };\n"
    "static __device__ float half_of(unsigned short h) { int e = h >> 10 & 31; float m = 1024 + (h & 1023); "
    "for (; e > 25; e--) m *= 2; for (; e < 25; e++) m /= 2; return h >> 15 ? -m : m; }\n"
    "extern \"C\" __global__ void mix(float *y, const four *v, const rec *s, const bool *flags, unsigned "
    "short h, unsigned short g, bool on, signed char tiny, int three, float f, double q, bool yes, unsigned "
    "large, short m2, "
    "unsigned short scale, int n) {\n"
    "    int i = blockIdx.x * 64 + threadIdx.x;\n"
    "    if (i >= n) return;\n"
    "    bool good = h == 0x3555 && g == 0xbfc0 && on && tiny == -7 && three == 3 && f == 2.5f && q == 0.25 "
    "&& yes && large == 4000000000u && m2 == -2 && half_of(scale) == (float)SCALE && (float)TWICE == "
    "(float)SCALE;\n"
    "    good = good && v[i].x == (4 * i) % 13 && v[i].w == (4 * i + 3) % 13;\n"
    "    y[i] = good ? s[i].k[1] % 100 * (float)SCALE + (flags[i] ? 1 : 2) : 1e9f;\n"
    "}\n"
    "extern \"C\" __global__ void plain(float *y, const int *s, const unsigned char *flags, int n, float "
    "scale) {\n"
    "    for (int i = 0; i < n; i++) y[i] = s[i * 6 + 3] % 100 * scale + (flags[i] == 1 ? 1 : flags[i] == 0 "
    "? 2 : 1000);\n"
    "}\n";

/* fp8: what it holds, and a tolerance of one code. */
static const char eight[] = "//@ kernel    eight\n"
                            "//@ problem   n 1000\n"
                            "//@ type      T e4m3 e5m2\n"
                            "//@ buffer    x T n in uniform 1 2\n"
                            "//@ buffer    y T n out\n"
                            "//@ param     BLOCK 64 128\n"
                            "//@ block     BLOCK\n"
                            "//@ grid      ceil_div(n, BLOCK)\n"
                            "//@ args      y, x, i64 n, i32 iif(T = 'e4m3', 56, 60)\n"
                            "//@ default   BLOCK=64\n"
                            "//@ reference same\n"
                            "//@ block     64\n"
                            "//@ grid      ceil_div(n, 64)\n"
                            "//@ args      y, x, i64 n\n"
                            "//@ tolerance rel 0.25\n"
                            "extern \"C\" __global__ void eight(T *y, const T *x, long long n, int one) {\n"
                            "    long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;\n"
                            "    if (i < n) y[i] = x[i] >= one && x[i] < 64 ? x[i] + 1 : 127;\n"
                            "}\n"
                            "extern \"C\" __global__ void same(T *y, const T *x, long long n) {\n"
                            "    long long i = (long long)blockIdx.x * 64 + threadIdx.x;\n"
                            "    if (i < n) y[i] = x[i];\n"
                            "}\n";

static void test_results_by_configuration(void **state) {
    (void)state;
    expect(0, "3 failed", sums, "");
    expect(0, "3 failed", sums, "n=777");
    expect(1, "total finds an error of 188, and the limit is 0.001",
           changed(sums, "a += i % 7", "a += 0 * i; a = 1"), "n=64");
    expect(1, "wrote to", changed(sums, "blockIdx.x + BAD", "blockIdx.x + BAD + 1"), "");
    expect(2, "a kernel of `data` writes before or behind pairs",
           changed(sums, "p[2 * i + 1] = -x[i]", "p[2 * i + 1] = -x[i]; p[2 * n] = 0"), "");
    expect(1, "the reference partial_reference writes to the input x",
           changed(sums, "sums[k] = s;", "sums[k] = s; ((float *)x)[k] = 99;"), "");
}

static void test_restored_by_configuration(void **state) {
    (void)state;
    expect(0, "3 of 3 configurations tried, 0 failed", counts, "");
    expect(0, "1 failed", changed(counts, "1u);", "1u); if (BLOCK == 64) parts[16] = 0;"), "");
}

static void test_elements_and_arguments(void **state) {
    (void)state;
    expect(0, "0 failed", mix, "");
    expect(1, "should be", changed(mix, "tiny i8 -7", "tiny i8 -8"), "");
    expect(1, "should be", changed(mix, "index i % 13", "index i % 12"), "");
}

static void test_eight_bits(void **state) {
    (void)state;
    expect(0, "0 failed", eight, "T=e4m3");
    expect(0, "0 failed", eight, "T=e5m2");
    expect(1, "should be 1.", changed(eight, "rel 0.25", "rel 0.05"), "T=e4m3");
    expect(1, "is nan, should be 4", changed(eight, "uniform 1 2", "uniform 4 4.1"), "T=e5m2");
}

/* What the default computes is right, in two launches of two kernels, the second with a swap. */
static const char by_default[] = "//@ kernel    first\n"
                                 "//@ problem   n 1000\n"
                                 "//@ buffer    x f32 n in\n"
                                 "//@ buffer    y f32 n out\n"
                                 "//@ buffer    z f32 n scratch\n"
                                 "//@ param     B 32 64\n"
                                 "//@ param     ADD 0 1\n"
                                 "//@ block     B\n"
                                 "//@ grid      ceil_div(n, B)\n"
                                 "//@ args      z, x, i32 n\n"
                                 "//@ kernel    second\n"
                                 "//@ block     64\n"
                                 "//@ grid      ceil_div(n, 64)\n"
                                 "//@ args      y, z, i32 n\n"
                                 "//@ repeat    2\n"
                                 "//@ swap      y z\n"
                                 "//@ default   B=64 ADD=0\n"
                                 "//@ reference default\n"
                                 "//@ options   -w\n"
                                 "extern \"C\" __global__ void first(float *z, const float *x, int n) {\n"
                                 "    int i = blockIdx.x * B + threadIdx.x;\n"
                                 "    if (i < n) z[i] = x[i] + ADD;\n"
                                 "}\n"
                                 "extern \"C\" __global__ void second(float *y, const float *z, int n) {\n"
                                 "    int i = blockIdx.x * 64 + threadIdx.x;\n"
                                 "    if (i < n) y[i] = 2 * z[i];\n"
                                 "}\n";

static void test_reference_default(void **state) {
    (void)state;
    char line[256];
    run_result r;
    expect(0, "4 of 4 configurations tried, 2 failed", by_default, "");
    expect(2, "`per configuration` needs a kernel as reference",
           changed(by_default, "options   -w", "per configuration"), "");
    expect(2, "`reference default` stands alone: take it or the other `reference` away",
           changed(by_default, "options   -w", "reference first\n//@ block 1\n//@ grid 1\n//@ args y, x"),
           "");
    expect(2, "a second `block`, the first is in line 12", changed(by_default, "options   -w", "block 1"),
           "");
    write_in(folder, "k.cu", by_default);
    snprintf(line, sizeof line, "--kernel %s/k.cu --db :memory: --json", folder);
    run_tune(&r, &(run_spec){.timeout_s = 240}, line);
    assert_code(&r, 0);
    assert_has(&r, r.out,
               "\"note\":\"right is what the default configuration computes (`reference default`)\"");
    run_free(&r);
    snprintf(line, sizeof line, "check %s/k.cu", folder);
    run_tune(&r, &(run_spec){.timeout_s = 240}, line);
    assert_code(&r, 0);
    assert_has(&r, r.out,
               "verified against the default configuration, which is right by `reference default`");
    run_free(&r);
}

/* A program that stays as it is. Its annotations are in a file beside it, and parameters take the place of a
 * macro, a constant and a template argument. */
static const char program[] =
    "#define BLOCK 256\n"
    "constexpr int ADD = 4;\n"
    "template <int TILE> __global__ void tiled(float *y, const float *x, int n) {\n"
    "    for (int k = 0; k < TILE; k++) {\n"
    "        int i = (blockIdx.x * TILE + k) * BLOCK + threadIdx.x;\n"
    "        if (i < n) y[i] = 2 * x[i] + ADD;\n"
    "    }\n"
    "}\n"
    "__global__ void plain(float *y, const float *x, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i "
    "< "
    "n) y[i] = 2 * x[i]; }\n"
    "__global__ __launch_bounds__(BLOCK) void other(float *y) { y[0] = 1; }\n"
    "void launch(float *y, float *x, int n) { tiled<4><<<(n + 1023) / 1024, BLOCK>>>(y, x, n); }\n"
    "int main() { float *x; cudaMalloc(&x, 400); launch(x, x, 100); return 0; }\n";
static const char beside[] = "//@ kernel    tiled<TILE>\n"
                             "//@ problem   n 1000\n"
                             "//@ buffer    x f32 n in\n"
                             "//@ buffer    y f32 n out\n"
                             "//@ param     BLOCK 32 64\n"
                             "//@ param     ADD 0 1\n"
                             "//@ param     TILE 1 2 as template\n"
                             "//@ default   BLOCK=64 ADD=0 TILE=2\n"
                             "//@ block     BLOCK\n"
                             "//@ grid      ceil_div(n, BLOCK * TILE)\n"
                             "//@ args      y, x, i32 n\n"
                             "//@ reference plain\n"
                             "//@ block     256\n"
                             "//@ grid      ceil_div(n, 256)\n"
                             "//@ args      y, x, i32 n\n"
                             "#include \"program.cu\"\n";

static void test_a_whole_program(void **state) {
    (void)state;
    write_in(folder, "program.cu", program);
    expect(0, "8 of 8 configurations tried, 4 failed", beside, "");
    expect(2, "TILE is a `runtime` parameter, which no template argument can be: say `param`",
           changed(beside, "param     TILE", "runtime   TILE"), "");
}

/* Structs and vectors by value, laid out as C++ does. */
static const char by_value[] =
    "//@ kernel    twice\n"
    "//@ problem   n 1000\n"
    "//@ buffer    y f32 n out\n"
    "//@ param     B 32 64\n"
    "//@ block     B\n"
    "//@ grid      ceil_div(n, B)\n"
    "//@ args      y, f32x3 2, u32x3 (1, B, n), struct (i8 -3, i32 n, u8 7, f64 0.5, f32x4 (1, 2, 3, 4), "
    "i16x3 5, bool n > 1), i32 n, f32x2 (0.5 * 3, min(n, 7)), struct (u8 9)\n"
    "//@ default   B=64\n"
    "//@ reference plain\n"
    "//@ block     1\n"
    "//@ grid      1\n"
    "//@ args      y, u64x2 (3, n)\n"
    "struct v3 { float x, y, z; };\nstruct u3 { unsigned x, y, z; };\n"
    "struct alignas(16) v4 { float x, y, z, w; };\nstruct alignas(8) v2 { float x, y; };\n"
    "struct all { signed char a; int n; unsigned char b; double d; v4 v; short s[3]; bool last; };\n"
    "struct one { unsigned char a; };\nstruct alignas(16) u2 { unsigned long long x, y; };\n"
    "extern \"C\" __global__ void twice(float *y, v3 s, u3 u, all p, int n, v2 t, one o) {\n"
    "    int i = blockIdx.x * B + threadIdx.x;\n"
    "    bool good = s.x == 2 && s.y == 2 && s.z == 2 && u.x == 1 && u.y == B && u.z == n && p.a == -3 && "
    "p.n == n && p.b == 7 && p.d == 0.5 && p.v.x == 1 && p.v.y == 2 && p.v.w == 4 && p.s[0] == 5 && p.s[2] "
    "== 5 "
    "&& p.last && t.x == 1.5f && t.y == 7 && o.a == 9;\n"
    "    if (i < n) y[i] = good ? 3 : 1;\n"
    "}\n"
    "extern \"C\" __global__ void plain(float *y, u2 u) { for (int i = 0; i < u.y; i++) y[i] = u.x; }\n";

static void test_structs_by_value(void **state) {
    (void)state;
    static const struct {
        int code;
        const char *says, *items, *instead;
    } cases[] = {
        {1, "should be 3", "f64 0.5", "f64 0.25"},
        {2, "k.cu:7:33: 2 values, expected 1 or 3", "u32x3 (1, B, n)", "u32x3 (1, B)"},
        {1, "should be 3", "i8 -3", "y"},
        {2,
         "k.cu:7:52: found 'y + 1' in a struct, expected a type and a value, as in i32 n, or the name of a",
         "i8 -3", "y + 1"},
        {1,
         "parameter 7 of twice has 1 bytes, but item 7 of its `args` (struct) has 2: list its members in "
         "their "
         "order, with the padding that C++ adds",
         "struct (u8 9)", "struct (u16 9)"},
        {2, "k.cu:7:52: signed char is a type of C++: write i8 -3", "i8 -3", "signed char -3"},
        {2, "k.cu:7:52: a struct in a struct: list its members among those of the outer one", "i8 -3",
         "struct (i8 -3)"},
        {2, "found 'one{9}', but a struct is written as struct (TYPE VALUE, ...)", "struct (u8 9)", "one{9}"},
        {2, "found 'all', expected: struct (TYPE VALUE, ...)", "struct (u8 9)", "struct all"},
        {2, "`-3` is -3, which does not fit u8", "i8 -3", "u8 -3"},
    };
    expect(0, "2 of 2 configurations tried, 0 failed", by_value, "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i].code, cases[i].says, changed(by_value, cases[i].items, cases[i].instead), "");
}

/* The compiler is told the names of files. */
static void test_names_of_files(void **state) {
    (void)state;
    char line[256];
    run_result r;
    write_in(folder, "a\\b.h", "#define SUM(i) x[i] + 1\n");
    write_in(
        folder, "c\"d\\u.cu",
        "//@ kernel k\n//@ problem n 64\n//@ buffer x f32 n in index i % 7\n//@ buffer y f32 n out\n"
        "//@ param B 32 64\n//@ block B\n//@ grid n / B\n//@ args y, x\n//@ default B=32\n"
        "#include \"a\\b.h\"\n"
        "//@ reference r\n//@ block 64\n//@ grid 1\n//@ args y, x\n"
        "extern \"C\" __global__ void k(float *y, const float *x) { int i = blockIdx.x * B + threadIdx.x; "
        "y[i] = SUM(i); }\n"
        "extern \"C\" __global__ void r(float *y, const float *x) { y[threadIdx.x] = SUM(threadIdx.x); }\n");
    snprintf(line, sizeof line, "--kernel %s/c\"d\\u.cu --db :memory:", folder);
    run_tune(&r, &(run_spec){.timeout_s = 240}, line);
    assert_code(&r, 0);
    assert_has(&r, r.out, "2 of 2 configurations tried, 0 failed");
    run_free(&r);
}

static void test_says_what_is_not_for_it(void **state) {
    (void)state;
    expect(2, "mix takes a cudaTextureObject_t, and textures and surfaces cannot be given",
           changed(mix, "mix(float *y,", "mix(float *y, cudaTextureObject_t t,"), "");
    expect(2, "the code is OpenCL (`__kernel`), and only CUDA C++ can be tuned",
           "//@ kernel k\n//@ buffer y f32 4 out\n//@ block 1\n//@ grid 1\n//@ args y\n"
           "__kernel void k(__global float *y) {}\n",
           "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_by_configuration),
        cmocka_unit_test(test_restored_by_configuration),
        cmocka_unit_test(test_elements_and_arguments),
        cmocka_unit_test(test_eight_bits),
        cmocka_unit_test(test_reference_default),
        cmocka_unit_test(test_a_whole_program),
        cmocka_unit_test(test_structs_by_value),
        cmocka_unit_test(test_names_of_files),
        cmocka_unit_test(test_says_what_is_not_for_it),
        cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_pipelines),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests_name("cli-language", tests, enter, run_leave);
}
