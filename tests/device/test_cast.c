/* cast_transpose and cast_transpose_mx on a device: codes against the nearest ones found by halving, amax,
 * block scales, NaN and infinity, for every pair of types. And configurations of each template, which the
 * tuner verifies between guards. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device.h"

enum { MOST = 131 * 67, N_ARGS = 5 };

/* A NaN has the code above `most`. e8m23 stands for f32, which is not rounded. */
typedef struct format {
    const char *name;
    int bytes, exponent, mantissa;
    unsigned most, nan;
} format;
static const format formats[] = {
    {"e4m3", 1, 4, 3, 0x7e, 0x7f},     {"e5m2", 1, 5, 2, 0x7b, 0x7f},    {"bf16", 2, 8, 7, 0x7f80, 0x7fff},
    {"f16", 2, 5, 10, 0x7c00, 0x7fff}, {"f32", 4, 8, 23, 0x7f800000, 0},
};
enum { E4M3, E5M2, BF16, F16, F32, FORMATS };

/* Infinity counts as the number that would follow the largest one. */
static double number(const format *f, unsigned code) {
    const int bias = (1 << (f->exponent - 1)) - 1, e = (int)(code >> f->mantissa);
    const double fraction = code & ((1u << f->mantissa) - 1), one = ldexp(1, f->mantissa);
    return e == 0 ? ldexp(fraction, 1 - bias - f->mantissa) : ldexp(one + fraction, e - bias - f->mantissa);
}

/* The nearest code, of two the even one. */
static unsigned nearest(const format *f, float v) {
    const unsigned sign = signbit(v) ? 1u << (f->exponent + f->mantissa) : 0;
    unsigned code = 0, above = f->most; /* numbers grow with their codes */
    if (isnan(v))
        return f->nan;
    const double size = fmin(fabs((double)v), number(f, f->most));
    while (above - code > 1) {
        const unsigned between = code + (above - code) / 2;
        *(number(f, between) <= size ? &code : &above) = between;
    }
    const double off = size - number(f, code), off_above = number(f, above) - size;
    return sign | (off_above < off || (off_above == off && above % 2 == 0) ? above : code);
}

static float read_float(const format *f, const unsigned char *at) {
    unsigned code = 0;
    float v;
    memcpy(&code, at, (size_t)f->bytes);
    if (f->bytes == 4) {
        memcpy(&v, &code, sizeof v);
        return v;
    }
    const unsigned size = code & 0x7fff;
    v = size > f->most ? NAN : size == f->most ? INFINITY : (float)number(f, size);
    return code >> 15 ? -v : v;
}

static unsigned char src[4 * MOST], dst[4 * MOST], cast[4 * MOST];

/* All kinds of numbers: random bits, and numbers of the size that `to` has, halves between them, too. */
static void fill_source(const format *from, const format *to, int n) {
    static const float special[] = {
        0,     -0.0f,    448,       464,      465,      57344,           61440,  65519,     65520, 1e30f,
        -1e9f, 0x1p-10f, 0x1.8p-9f, 0x1p-17f, 0x1p-25f, 0x1.000002p-25f, 3e-39f, -INFINITY, NAN};
    const int n_special = sizeof special / sizeof *special;
    for (int i = 0; i < n; i++) {
        unsigned bits = (unsigned)i * 2654435761u ^ (unsigned)i << 7;
        float v = special[i % n_special];
        if (i >= n_special && i % 2)
            v = (float)(number(to, bits % to->most) + number(to, bits % to->most + 1)) /
                (i % 4 == 1 ? 2 : -2);
        if (i < n_special || i % 2)
            memcpy(&bits, &v, sizeof bits);
        if (from->bytes == 2 && (i < n_special || i % 2))
            bits = from == &formats[BF16] ? bits >> 16 : nearest(from, v);
        memcpy(src + i * from->bytes, &bits, (size_t)from->bytes);
    }
}

static void one(const format *from, const format *to, int rows, int cols, int outputs, float scale,
                float before) {
    char values[96];
    float amax = before, largest = before;
    tt_problem problem = TT_INIT(tt_problem);
    tt_plan *plan = NULL;
    void *args[N_ARGS];
    CUdeviceptr device[N_ARGS];
    const size_t to_bytes = (size_t)(rows * cols * to->bytes),
                 from_bytes = (size_t)(rows * cols * from->bytes),
                 cast_bytes = outputs & 2 ? to_bytes : (size_t)to->bytes;
    const size_t bytes[N_ARGS] = {to_bytes, cast_bytes, sizeof amax, from_bytes, sizeof scale};
    snprintf(values, sizeof values, "rows=%d,cols=%d,outputs=%d,S=%s,D=%s", rows, cols, outputs, from->name,
             to->name);
    problem.op = "cast_transpose";
    problem.values = values;
    OK(tt_plan_create(&plan, device_ctx, &problem));
    fill_source(from, to, rows * cols);
    memset(cast, 0xa5, sizeof cast);
    for (int i = 0; i < N_ARGS; i++) { /* not a byte too long, for compute-sanitizer */
        CU_OK(cu->cuMemAlloc(&device[i], bytes[i]));
        args[i] = &device[i];
    }
    CU_OK(device_put(device[1], cast, cast_bytes));
    CU_OK(device_put(device[2], &amax, sizeof amax));
    CU_OK(device_put(device[3], src, from_bytes));
    CU_OK(device_put(device[4], &scale, sizeof scale));
    OK(tt_plan_launch_args(plan, args, N_ARGS, NULL));
    CU_OK(cu->cuCtxSynchronize());
    CU_OK(cu->cuMemcpyDtoH(dst, device[0], to_bytes));
    CU_OK(cu->cuMemcpyDtoH(cast, device[1], cast_bytes));
    CU_OK(cu->cuMemcpyDtoH(&amax, device[2], sizeof amax));
    tt_plan_free(&plan);
    for (int i = 0; i < N_ARGS; i++)
        CU_OK(cu->cuMemFree(device[i]));
    for (int i = 0; i < rows * cols; i++) {
        const float v = read_float(from, src + i * from->bytes), scaled = v * scale;
        unsigned right, got = 0, same = 0;
        memcpy(&right, &scaled, sizeof right);
        if (to->bytes < 4)
            right = nearest(to, scaled);
        memcpy(&got, dst + (i % cols * rows + i / cols) * to->bytes, (size_t)to->bytes);
        memcpy(&same, cast + i * to->bytes, (size_t)to->bytes);
        if (!(to->bytes == 4 && isnan(scaled)) && (got != right || (outputs & 2 && same != right)))
            fail_msg("%s: %g x %g became %x and %x, not %x", values, (double)v, (double)scale, got, same,
                     right);
        if (!isnan(v))
            largest = fmaxf(largest, fabsf(v));
    }
    for (size_t i = 0; i < cast_bytes && !(outputs & 2); i++)
        assert_int_equal(cast[i], 0xa5);
    assert_true(amax == (outputs & 4 ? largest : before));
}

static void test_codes(void **state) {
    (void)state;
    for (int from = BF16; from < FORMATS; from++)
        for (int to = 0; to < FORMATS; to++) {
            if (from != BF16 && to != E4M3 && !device_may_take_long())
                continue;
            one(&formats[from], &formats[to], 16, 24, 7, 1, 0);
            one(&formats[from], &formats[to], 7, 13, 3, 0.75f, 0.5f);
        }
    one(&formats[BF16], &formats[E4M3], 128, 64, 7, 1, 0);
    one(&formats[BF16], &formats[E4M3], 131, 67, 7, 1, 0);
    one(&formats[BF16], &formats[E4M3], 1, 1, 7, 2, 3);
    one(&formats[BF16], &formats[E4M3], 3, 1, 7, 2, INFINITY);
    one(&formats[BF16], &formats[E4M3], 3, 5, 1, -2, 7);
}

/* 32 numbers with a scale: the smallest with which none saturates. `apart`: from one to the next. */
static void expect_block(const format *from, const format *to, const unsigned char *codes, unsigned got_scale,
                         const unsigned char *numbers, int apart) {
    double most = 0;
    int scale = 0;
    for (int i = 0; i < 32; i++) {
        const float v = fabsf(read_float(from, numbers + i * apart * from->bytes));
        most = isnan(v) ? most : fmax(most, fmin((double)v, 0x1.fffffep127));
    }
    while (most > ldexp(number(to, to->most), scale - 127))
        scale++;
    if (got_scale != (unsigned)scale)
        fail_msg("%s to %s, step %d: the largest is %g, and the scale %u, not %d", from->name, to->name,
                 apart, most, got_scale, scale);
    for (int i = 0; i < 32; i++) {
        const float v = read_float(from, numbers + i * apart * from->bytes);
        const unsigned right = nearest(to, (float)ldexp((double)v, 127 - scale));
        if (codes[i] != right)
            fail_msg("%s to %s: %g with scale %d became %x, not %x", from->name, to->name, (double)v, scale,
                     codes[i], right);
    }
}

static void one_mx(const format *from, const format *to, int rows, int cols) {
    enum { MX_ARGS = 5 };
    char values[96];
    unsigned char *host[MX_ARGS], scales[2][MOST / 32];
    tt_problem problem = TT_INIT(tt_problem);
    tt_plan *plan = NULL;
    void *args[MX_ARGS];
    CUdeviceptr at[MX_ARGS];
    const size_t n = (size_t)(rows * cols), bytes[MX_ARGS] = {n, n / 32, n, n / 32, n * (size_t)from->bytes};
    host[0] = dst, host[1] = scales[0], host[2] = cast, host[3] = scales[1], host[4] = src;
    snprintf(values, sizeof values, "rows=%d,cols=%d,S=%s,D=%s", rows, cols, from->name, to->name);
    problem.op = "cast_transpose_mx";
    problem.values = values;
    OK(tt_plan_create(&plan, device_ctx, &problem));
    fill_source(from, to, rows * cols);
    for (int i = 0; i < MX_ARGS; i++) {
        CU_OK(cu->cuMemAlloc(&at[i], bytes[i]));
        args[i] = &at[i];
    }
    CU_OK(device_put(at[4], src, bytes[4]));
    OK(tt_plan_launch_args(plan, args, MX_ARGS, NULL));
    CU_OK(cu->cuCtxSynchronize());
    for (int i = 0; i < MX_ARGS; i++) {
        CU_OK(cu->cuMemcpyDtoH(host[i], at[i], bytes[i]));
        CU_OK(cu->cuMemFree(at[i]));
    }
    tt_plan_free(&plan);
    for (int i = 0; i < rows * cols / 32; i++) {
        const int row = i % (rows / 32) * 32, col = i / (rows / 32);
        expect_block(from, to, cast + i * 32, scales[1][i], src + i * 32 * from->bytes, 1);
        expect_block(from, to, dst + i * 32, scales[0][i], src + (row * cols + col) * from->bytes, cols);
    }
}

static void test_mx(void **state) {
    (void)state;
    for (int from = BF16; from < FORMATS; from++)
        for (int to = E4M3; to <= E5M2; to++)
            one_mx(&formats[from], &formats[to], 96, 64);
}

/* Tunes the first `few` problems in one call; with TT_LONG all of them, and more configurations. */
static void tune(const char *kernel, const char *op, const char *const *values, size_t n, size_t few) {
    enum { PROBLEMS_MAX = 10 };
    const bool all = device_may_take_long();
    tt_problem problems[PROBLEMS_MAX];
    tt_report *report = NULL;
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    n = all ? n : few;
    assert_true(n <= PROBLEMS_MAX);
    opts.only = &kernel;
    opts.n_only = 1;
    opts.max_trials = all ? 40 : 2;
    opts.strategy = "random";
    for (size_t i = 0; i < n; i++) {
        problems[i] = (tt_problem)TT_INIT(tt_problem);
        problems[i].op = op;
        problems[i].values = values[i];
    }
    if (tt_tune(&report, device_ctx, problems, n, &opts) != TT_OK)
        fail_msg("%s: %s", kernel, tt_last_error());
    for (size_t i = 0; i < n; i++)
        if (report->results[i].failed > 0)
            fail_msg("%s: %s: %zu failed", kernel, problems[i].values, report->results[i].failed);
    tt_report_free(&report);
}

static void test_configurations(void **state) {
    (void)state;
    static const char *const vector[] = {
        "rows=256,cols=256,outputs=7",
        "rows=272,cols=144,outputs=7,S=f32",
        "rows=300,cols=132,outputs=3,S=f16,D=f16",
        "rows=140,cols=520,outputs=7,D=f32",
        "rows=264,cols=264,outputs=5,S=f32,D=e5m2",
    };
    static const char *const shifted[] = {
        "rows=594,cols=276,outputs=7,S=f32",
        "rows=131,cols=70,outputs=3,S=f32,D=f16",
        "rows=131,cols=257,outputs=7,D=bf16",
        "rows=129,cols=67,outputs=1,S=f32,D=f32",
        "rows=1,cols=300,outputs=7",
        "rows=256,cols=256,outputs=7",
        "rows=595,cols=533,outputs=7",
        "rows=67,cols=333,outputs=7",
        "rows=258,cols=129,outputs=7,S=f16,D=e5m2",
        "rows=301,cols=2,outputs=7",
    };
    static const char *const mx[] = {
        "rows=288,cols=160",
        "rows=256,cols=128,outputs=2,S=f32",
        "rows=96,cols=320,outputs=1,S=f16,D=e5m2",
    };
#define TUNE(kernel, op, values, few) tune(kernel, op, values, sizeof(values) / sizeof *(values), few)
    TUNE("cast_transpose_vector", "cast_transpose", vector, 2);
    TUNE("cast_transpose_shifted", "cast_transpose", shifted, 5);
    TUNE("cast_transpose_mx_tiled", "cast_transpose_mx", mx, 2);
#undef TUNE
}

/* An argument is the name of the only test to run. */
int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_mx),
        cmocka_unit_test(test_configurations),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return device_open() ? cmocka_run_group_tests(tests, device_enter, device_leave) : device_missing();
}
