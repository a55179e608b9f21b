/* A kernel of one's own that the tests of them share, what it is given, and what it must leave, computed here
 * once more. */
#ifndef TT_TESTS_DEVICE_OWN_H
#define TT_TESTS_DEVICE_OWN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "device.h"

/* y += a * x + b + the sum of the 256 numbers of x around it, in two passes with scratch between them. For
 * every type, n ends with a part of a block. All numbers in the tests are small and whole, so every sum is
 * exact. */
static const char source[] =
    "//@ kernel    parts_of\n"
    "//@ problem   n 1000\n"
    "//@ type      T f32 f64\n"
    "//@ buffer    x T n in uniform -1 1\n"
    "//@ buffer    parts T ceil_div(n, 256) scratch\n"
    "//@ buffer    y T n inout\n"
    "//@ scalar    a T 2.5\n"
    "//@ scalar    b i32 -3\n"
    "//@ param     STEP 1 2\n"
    "//@ runtime   EACH 1 4\n"
    "//@ block     32\n"
    "//@ grid      ceil_div(ceil_div(n, 256), EACH)\n"
    "//@ args      parts, x, i64 n, i32 EACH\n"
    "//@ kernel    whole\n"
    "//@ block     64\n"
    "//@ grid      ceil_div(n, 64 * STEP)\n"
    "//@ shared    64 * elem_size\n"
    "//@ args      y, x, parts, a, b, i64 n\n"
    "//@ default   STEP=1 EACH=1\n"
    "//@ reference plain\n"
    "//@ block     64\n"
    "//@ grid      ceil_div(n, 64)\n"
    "//@ args      y, x, a, b, i64 n\n"
    "//@ tolerance abs 1e-4 rel 1e-4\n"
    "//@ metric    gbps 3 * n * elem_size / time_ns\n"
    "extern \"C\" __global__ void parts_of(T *parts, const T *x, long long n, int each) {\n"
    "    const long long chunk = (long long)blockIdx.x * each + threadIdx.x;\n"
    "    if (threadIdx.x >= each || chunk * 256 >= n)\n"
    "        return;\n"
    "    T sum = 0;\n"
    "    for (long long i = chunk * 256; i < n && i < chunk * 256 + 256; i++)\n"
    "        sum += x[i];\n"
    "    parts[chunk] = sum;\n"
    "}\n"
    "extern \"C\" __global__ void whole(T *y, const T *x, const T *parts, T a, int b, long long n) {\n"
    "    extern __shared__ unsigned char held[];\n"
    "    T *mine = (T *)held + threadIdx.x;\n"
    "    for (int k = 0; k < STEP; k++) {\n"
    "        const long long i = ((long long)blockIdx.x * STEP + k) * 64 + threadIdx.x;\n"
    "        if (i >= n)\n"
    "            return;\n"
    "        *mine = a * x[i];\n"
    "        y[i] += *mine + (T)b + parts[i / 256];\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__ void plain(T *y, const T *x, T a, int b, long long n) {\n"
    "    const long long i = (long long)blockIdx.x * 64 + threadIdx.x;\n"
    "    if (i >= n)\n"
    "        return;\n"
    "    T sum = 0;\n"
    "    for (long long k = i / 256 * 256; k < n && k < i / 256 * 256 + 256; k++)\n"
    "        sum += x[k];\n"
    "    y[i] += a * x[i] + (T)b + sum;\n"
    "}\n";

enum { MOST = 2000, N_ARGS = 5 };

static char folder[] = "/tmp/tiletune-own-XXXXXX";
static tt_ctx *ctx;

static int setup(void **state) {
    (void)state;
    char path[128];
    tt_open_opts opts = TT_INIT(tt_open_opts);
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/own.db", folder);
    opts.db_path = path;
    return tt_open(&ctx, &opts) == TT_OK ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    char command[128];
    tt_close(&ctx);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static inline tt_kernel *open_text(const char *text) {
    tt_kernel *k;
    OK(tt_kernel_open(&k, ctx, "own.cu", text));
    return k;
}

static inline void refused(tt_status status, tt_status expected, const char *says) {
    if (status != expected || !strstr(tt_last_error(), says))
        fail_msg("status %d: %s\n  expected %d: %s", status, tt_last_error(), expected, says);
}

typedef struct given {
    CUdeviceptr x, parts, y;
    int elem_size, b;
    float a32;
    double a64;
    void *args[N_ARGS];
} given;

static double get(const void *data, int elem_size, int i) {
    float f;
    double d;
    if (elem_size == 8) {
        memcpy(&d, (const char *)data + 8 * i, 8);
        return d;
    }
    memcpy(&f, (const char *)data + 4 * i, 4);
    return (double)f;
}

static void put(void *data, int elem_size, int i, double value) {
    float f = (float)value;
    if (elem_size == 8)
        memcpy((char *)data + 8 * i, &value, 8);
    else
        memcpy((char *)data + 4 * i, &f, 4);
}

static double x_at(int i) {
    return i * 7 % 11 - 5;
}

static double y_at(int i) {
    return i % 13;
}

/* Makes buffers with a guard after y. The scratch is full of values that must not matter. */
static void make(given *g, int elem_size, double a, int b) {
    unsigned char data[(MOST + 64) * 8];
    *g = (given){.elem_size = elem_size, .a32 = (float)a, .a64 = a, .b = b};
    CU_OK(cu->cuMemAlloc(&g->x, sizeof data));
    CU_OK(cu->cuMemAlloc(&g->parts, sizeof data));
    CU_OK(cu->cuMemAlloc(&g->y, sizeof data));
    for (int i = 0; i < MOST + 64; i++)
        put(data, elem_size, i, x_at(i));
    CU_OK(cu->cuMemcpyHtoD(g->x, data, sizeof data));
    for (int i = 0; i < MOST + 64; i++)
        put(data, elem_size, i, y_at(i));
    CU_OK(cu->cuMemcpyHtoD(g->y, data, sizeof data));
    memset(data, 0xff, sizeof data);
    CU_OK(cu->cuMemcpyHtoD(g->parts, data, sizeof data));
    g->args[0] = &g->x;
    g->args[1] = &g->parts;
    g->args[2] = &g->y;
    g->args[3] = elem_size == 8 ? (void *)&g->a64 : &g->a32;
    g->args[4] = &g->b;
}

static void drop(given *g) {
    CU_OK(cu->cuMemFree(g->x));
    CU_OK(cu->cuMemFree(g->parts));
    CU_OK(cu->cuMemFree(g->y));
}

/* y after so many launches of n elements. */
static void check(const given *g, int n, int launches) {
    unsigned char data[(MOST + 64) * 8];
    CU_OK(cu->cuCtxSynchronize());
    CU_OK(cu->cuMemcpyDtoH(data, g->y, sizeof data));
    for (int i = 0; i < MOST + 64; i++) {
        double expected = y_at(i), sum = 0;
        for (int k = i / 256 * 256; k < n && k < i / 256 * 256 + 256; k++)
            sum += x_at(k);
        if (i < n)
            expected += launches * (g->a64 * x_at(i) + g->b + sum);
        if (get(data, g->elem_size, i) != expected)
            fail_msg("y[%d] of %d after %d launches is %g, should be %g", i, n, launches,
                     get(data, g->elem_size, i), expected);
    }
}

#endif
