/* Instructions counted in cubins that NVRTC makes here, for several architectures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "code/cubin.h"
#include "code/nvrtc.h"

enum { EXIT_SKIPPED = 77 };

static const char source[] =
    "extern \"C\" __global__ void moves(float4 *y, const float4 *x) { y[threadIdx.x] = x[threadIdx.x]; }\n"
    "extern \"C\" __global__ void bytes(char *y, const char *x) { y[threadIdx.x] = x[threadIdx.x]; }\n"
    "extern \"C\" __global__ void shares(float *y) {\n"
    "    __shared__ float t[256];\n"
    "    t[threadIdx.x] = y[threadIdx.x];\n"
    "    __syncthreads();\n"
    "    y[threadIdx.x] = t[255 - threadIdx.x];\n"
    "}\n"
    "extern \"C\" __global__ void computes(float *y, double *d) {\n"
    "    y[threadIdx.x] = y[threadIdx.x] * y[1] + y[2];\n"
    "    d[threadIdx.x] = d[threadIdx.x] * d[1] + d[2];\n"
    "}\n"
    "extern \"C\" __global__ void counts(int *y) { atomicAdd(&y[y[threadIdx.x]], y[1]); }\n"
    "extern \"C\" __global__ void loops(float *y, int n) {\n"
    "    float s = y[threadIdx.x];\n"
    "#pragma unroll 1\n"
    "    for (int i = 0; i < n; i++)\n"
    "        s = s * s + 2.0f;\n"
    "    y[threadIdx.x] = s;\n"
    "}\n"
    "extern \"C\" __global__ void spills(int *y, int n) {\n"
    "    int t[64];\n"
    "    for (int i = 0; i < 64; i++) t[y[i] & 63] = i;\n"
    "    y[threadIdx.x] = t[n & 63];\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(1024, 1) keeps(float *y, const float *x, int n) {\n"
    "    float t[96];\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < 96; i++) t[i] = x[i * n + threadIdx.x];\n"
    "    __syncthreads();\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < 96; i++) y[i * n + threadIdx.x] = t[95 - i];\n"
    "}\n"
    "__constant__ float table[64];\n"
    "extern \"C\" __global__ void looks_up(float *y, int n) { y[threadIdx.x] = table[threadIdx.x & 63]; }\n"
    "extern \"C\" __global__ void converts(float *y, int *i, double *d) {\n"
    "    i[threadIdx.x] = (int)y[threadIdx.x];\n"
    "    d[threadIdx.x] = (double)y[threadIdx.x + 1];\n"
    "}\n"
    "extern \"C\" __global__ void halves(unsigned short *y, float *x) {\n"
    "    float f;\n"
    "    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(f) : \"h\"(y[threadIdx.x]));\n"
    "    x[threadIdx.x] = f;\n"
    "}\n"
    "extern \"C\" __global__ void adds_halves(unsigned *y) {\n"
    "    asm(\"add.rn.f16x2 %0, %0, %1;\" : \"+r\"(y[threadIdx.x]) : \"r\"(y[1]));\n"
    "}\n"
    "extern \"C\" __global__ void divides(unsigned *y, int *x) {\n"
    "    y[threadIdx.x] /= y[1];\n"
    "    x[threadIdx.x] = x[threadIdx.x] / 7 + x[2] / 8;\n"
    "}\n"
    "extern \"C\" __global__ void shares_sums(int *y, float *x) {\n"
    "    __shared__ int t[32];\n"
    "    __shared__ float f[32];\n"
    "    atomicAdd(&t[y[0] & 31], 2);\n"
    "    atomicAdd(&f[y[1] & 31], x[0]);\n"
    "    __syncthreads();\n"
    "    y[threadIdx.x] = t[threadIdx.x];\n"
    "    x[threadIdx.x] = f[threadIdx.x];\n"
    "}\n"
    "extern \"C\" __global__ void waits(volatile int *y) {\n"
    "    y[0] = 1;\n"
    "    __threadfence();\n"
    "    if (y[1]) __nanosleep(100);\n"
    "}\n";

static tt__sass sass_of(const tt__str *cubin, const char *kernel, int cc) {
    tt__sass s;
    assert_int_equal(tt__sass_read(&s, cubin->text, cubin->len, kernel, cc), TT_OK);
    return s;
}

static void check(const tt__str *cubin, int cc) {
    tt__sass s = sass_of(cubin, "moves", cc);
    assert_true(s.loads == 1 && s.load_bytes == 16 && s.stores == 1 && s.store_bytes == 16);
    assert_true(s.shared == 0 && s.fp32 == 0 && s.atomics == 0 && s.branches <= 1);
    s = sass_of(cubin, "bytes", cc);
    assert_true(s.load_bytes == 1 && s.store_bytes == 1);
    s = sass_of(cubin, "shares", cc);
    assert_true(s.shared == 2 && s.barriers == 1 && s.loads == 1 && s.stores == 1);
    s = sass_of(cubin, "computes", cc);
    assert_true(s.fp32 == 1 && s.fp64 == 1);
    s = sass_of(cubin, "counts", cc);
    assert_true(s.atomics == 1);
    s = sass_of(cubin, "loops", cc);
    assert_true(s.fp32 == TT__SASS_LOOP && s.loads == 1);
    s = sass_of(cubin, "spills", cc);
    assert_true(s.local > 0 && s.local_indexed > 0);
    assert_true(s.code_bytes > 0 && (int)s.code_bytes % 16 == 0);
    s = sass_of(cubin, "keeps", cc);
    assert_true(s.local > 0 && s.local_indexed == 0);
    s = sass_of(cubin, "looks_up", cc);
    assert_true(s.constants == 1);
    assert_true(sass_of(cubin, "counts", cc).constants == 0);
    s = sass_of(cubin, "converts", cc);
    assert_true(s.conversions == 2 && s.divisions == 0 && s.fp16 == 0);
    s = sass_of(cubin, "halves", cc);
    assert_true(s.conversions == 1 && s.fp16 == 0);
    s = sass_of(cubin, "adds_halves", cc);
    assert_true(s.fp16 == 1 && s.conversions == 0);
    s = sass_of(cubin, "divides", cc);
    assert_true(s.divisions == 1 && s.special == 1);
    s = sass_of(cubin, "shares_sums", cc);
    assert_true(s.shared_atomics >= 2 && s.shared_cas >= 1 && s.atomics == 0);
    assert_true(s.shared_cas < s.shared_atomics);
    s = sass_of(cubin, "waits", cc);
    assert_true(s.fences == 1 && s.sleeps == 1);
}

static void counts_kinds(void **state) {
    static const int ccs[] = {75, 80, 86, 89, 90, 100, 120};
    int n = 0;
    (void)state;
    for (size_t i = 0; i < sizeof ccs / sizeof *ccs; i++) {
        tt__str cubin = {0};
        tt_status status = tt__nvrtc_compile(&cubin, "kinds.cu", source, "", 0, ccs[i]);
        if (status == TT_OK)
            check(&cubin, ccs[i]);
        else
            assert_int_equal(status, TT_E_UNSUPPORTED); /* not of this NVRTC */
        n += status == TT_OK;
        tt__str_free(&cubin);
    }
    assert_true(n > 0);
}

/* Cut anywhere, or with another byte anywhere, it is read or refused. */
static void survives_damage(void **state) {
    enum { CHANGES = 2000 };
    tt__str cubin = {0};
    tt__sass s;
    (void)state;
    assert_int_equal(tt__nvrtc_compile(&cubin, "kinds.cu", source, "", 0, 90), TT_OK);
    unsigned seed = 1;
    for (int i = 0; i < CHANGES; i++) {
        char *copy = malloc(cubin.len);
        assert_non_null(copy);
        memcpy(copy, cubin.text, cubin.len);
        seed = seed * 1664525u + 1013904223u;
        size_t n = i % 2 ? cubin.len : seed % cubin.len;
        copy[seed / 7 % cubin.len] ^= (char)(1 << seed % 8);
        char *exact = malloc(n ? n : 1); /* so that a sanitizer sees reads beyond it */
        assert_non_null(exact);
        memcpy(exact, copy, n);
        tt__sass_read(&s, exact, n, "loops", 90);
        free(exact);
        free(copy);
    }
    assert_int_equal(tt__sass_read(&s, cubin.text, cubin.len, "nothing", 90), TT_E_UNSUPPORTED);
    tt__str_free(&cubin);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_kinds), cmocka_unit_test(survives_damage)};
    if (tt__nvrtc_open() != TT_OK)
        return EXIT_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
