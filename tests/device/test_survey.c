/*
 * How often the verifier runs the reference, and what that shows of it: which bytes it writes, and whether it
 * writes whole elements only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "code/nvrtc.h"
#include "device.h"
#include "gpu/device.h"
#include "kernel/load/builtin.h"
#include "kernel/load/parse.h"
#include "kernel/space/config.h"
#include "kernel/space/operation.h"
#include "kernel/space/space.h"
#include "kernel/space/workload.h"
#include "tuner/measure/verify.h"

enum { CUBINS_MAX = TT__CHECKER_PARTS + 2 };

/* A problem, and the verifiers of both sets of data. */
typedef struct bench {
    tt__gpu gpu;
    tt__template *t;
    const tt__operation *operation;
    tt__problem p;
    tt__workload work;
    tt__candidate reference;
    tt__str cubins[CUBINS_MAX];
    size_t n_cubins;
    const void *checkers[TT__CHECKER_PARTS];
    tt__verifier v[2];
} bench;

/* ---- A driver that counts launches of the reference ---- */

static tt__driver counting;
static const char *reference_name;
static CUkernel reference_kernel;
static CUfunction reference_function;
static int n_runs;

static CUresult get_kernel(CUkernel *out, CUlibrary library, const char *name) {
    CUresult r = cu->cuLibraryGetKernel(out, library, name);
    if (strcmp(name, reference_name) == 0)
        reference_kernel = *out;
    return r;
}

static CUresult get_function(CUfunction *out, CUkernel kernel) {
    CUresult r = cu->cuKernelGetFunction(out, kernel);
    if (kernel == reference_kernel)
        reference_function = *out;
    return r;
}

static CUresult count_launch(CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                             unsigned bz, unsigned shared, CUstream stream, void **args, void **extra) {
    n_runs += fn == reference_function;
    return cu->cuLaunchKernel(fn, gx, gy, gz, bx, by, bz, shared, stream, args, extra);
}

/* ---- Opening ---- */

static const char *compile(bench *b, const char *name, const char *source, const tt__configuration *c) {
    tt__str options = {0}, *out = &b->cubins[b->n_cubins++];
    int n;
    assert_in_range(b->n_cubins, 1, CUBINS_MAX);
    OK(tt__config_options(&options, &n, c, &b->p));
    OK(tt__nvrtc_compile(out, name, source, tt__str_text(&options), n, b->gpu.cc));
    tt__str_free(&options);
    return out->text;
}

static void open_set(bench *b, tt__data_set set, bool whole) {
    const tt__template *of = b->operation->t;
    n_runs = 0;
    reference_kernel = NULL; /* what is unloaded leaves its address to others */
    reference_function = NULL;
    OK(tt__verifier_open(&b->v[set], &counting, NULL, &b->p, &b->work, set, false,
                         set == TT__FIRST_DATA ? whole : b->v[TT__FIRST_DATA].whole, b->checkers,
                         compile(b, of->path, of->source, &b->reference.configuration), 0));
    b->n_cubins--;
    tt__str_free(&b->cubins[b->n_cubins]);
}

static void open_bench(bench *b, const tt__template *t) {
    const tt__template *of = b->operation->t;
    OK(tt__workload_of(&b->work, t, &b->gpu, &b->p));
    for (int i = 0; i < tt__verify_parts(&b->p, &b->work); i++) {
        tt__configuration checker;
        tt__verify_configuration(&checker, i);
        b->checkers[i] = compile(b, tt__checker[0].name, tt__checker[0].source, &checker);
    }
    OK(tt__space_aside(&b->reference, b->operation, TT__REFERENCE, &b->gpu, &b->p, of->default_config));
    counting = *cu;
    counting.cuLibraryGetKernel = get_kernel;
    counting.cuKernelGetFunction = get_function;
    counting.cuLaunchKernel = count_launch;
    reference_name = b->work.reference.name[0];
}

/* A kernel of a user that makes y from x, and its reference. */
static void open_own(bench *b, const char *type, const char *direction, int align, const char *reference,
                     const char *code) {
    char text[2048];
    snprintf(text, sizeof text,
             "//@ kernel k\n//@ problem n 1000\n//@ problem align 16\n"
             "//@ buffer x %s\n//@ buffer y %s n %s\n"
             "//@ runtime F 0 1 2\n//@ block 128\n//@ grid ceil_div(n, 128)\n//@ args y, x, i32 n, i32 F\n"
             "//@ default F=0\n//@ reference right\n//@ block 128\n//@ grid ceil_div(n, 128)\n"
             "//@ args y, x, i32 n\n"
             "#define I ((int)(blockIdx.x * blockDim.x + threadIdx.x))\n"
             "extern \"C\" __global__ void right(void *y, const float *x, int n) {\n"
             "    if (I < n) { %s }\n}\n"
             "extern \"C\" __global__ void k(void *y, const float *x, int n, int F) {\n"
             "    if (I < n) { %s }\n}\n",
             align < 4 ? "i8 n in" : "f32 n in uniform -1 1", type, direction, reference, code);
    *b = (bench){0};
    OK(tt__device_gpu(&b->gpu, 0));
    OK(tt__template_parse(&b->t, "k.cu", text));
    b->operation = b->t->operation;
    snprintf(text, sizeof text, "align=%d", align);
    OK(tt__operation_problem(&b->p, b->operation, b->t->op, text));
    open_bench(b, b->t);
}

static void close_bench(bench *b) {
    for (int i = 0; i < 2; i++)
        if (b->v[i].cu)
            tt__verifier_close(&b->v[i]);
    for (size_t i = 0; i < b->n_cubins; i++)
        tt__str_free(&b->cubins[i]);
    tt__template_free(&b->t);
}

/* ---- How often it runs ---- */

/* On the first data twice, to see of each byte whether it is written. If whole elements are, once is enough
 * on the second: then of four bytes that are written one has changed. */
static void test_runs(void **state) {
    (void)state;
    static const struct {
        const char *type, *direction;
        int align;
        const char *reference;
        int runs[2];
        bool whole;
    } cases[] = {
        {"f32", "out", 16, "((float *)y)[I] = x[I];", {2, 1}, true},
        {"f64", "out", 16, "((double *)y)[I] = x[I];", {2, 1}, true},
        {"f32", "out", 16, "if (x[I] > 0) ((float *)y)[I] = x[I];", {2, 1}, true},
        {"f64", "out", 16, "((float *)y)[2 * I] = x[I];", {2, 2}, false},
        {"i8", "out", 16, "((char *)y)[I] = (char)I;", {2, 2}, true},
        {"i32", "out", 2, "((short *)y)[2 * I] = ((short *)y)[2 * I + 1] = (short)I;", {2, 2}, true},
        {"f32", "inout", 16, "((float *)y)[I] += x[I];", {1, 1}, true}, /* what is not written is known */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench b;
        open_own(&b, cases[i].type, cases[i].direction, cases[i].align, cases[i].reference, "");
        for (int set = 0; set < 2; set++) {
            open_set(&b, (tt__data_set)set, false);
            if (n_runs != cases[i].runs[set] || b.v[set].whole != cases[i].whole)
                fail_msg("%s, set %d: %d runs, whole %d", cases[i].reference, set, n_runs, b.v[set].whole);
        }
        close_bench(&b);
    }
}

/* The references of built-in operations are known to write whole elements. */
static void test_built_in(void **state) {
    (void)state;
    tt__template_set set;
    OK(tt__template_set_open(&set, NULL, 0));
    static const struct {
        const char *values;
        int runs;
    } cases[] = {{"rows=30,cols=50,elem_size=4", 1}, {"rows=30,cols=50,elem_size=2", 2}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        bench b = {.n_cubins = 0};
        OK(tt__device_gpu(&b.gpu, 0));
        OK(tt__operation_builtin(&b.operation, "transpose"));
        OK(tt__operation_problem(&b.p, b.operation, "transpose", cases[k].values));
        open_bench(&b, tt__template_set_for(&set, &b.p));
        for (int i = 0; i < 2; i++) {
            open_set(&b, (tt__data_set)i, false);
            assert_int_equal(n_runs, cases[k].runs);
        }
        close_bench(&b);
    }
    tt__template_set_close(&set);
}

/* A reference that goes with each configuration is other code in each. */
static void test_per_configuration(void **state) {
    (void)state;
    bench b;
    tt__kernel kernel;
    open_own(&b, "f32", "out", 16, "((float *)y)[I] = x[I];", "");
    open_set(&b, TT__FIRST_DATA, false);
    b.v[0].work.per_config = true;
    const tt__template *of = b.operation->t;
    const char *cubin = compile(&b, of->path, of->source, &b.reference.configuration);
    OK(tt__kernel_load(&kernel, &counting, cubin, 0, &b.work.reference, &b.work.launch));
    n_runs = 0;
    OK(tt__verifier_reference(&b.v[0], &kernel, &b.work.launch));
    assert_int_equal(n_runs, 2);
    tt__kernel_unload(&kernel, &counting);
    close_bench(&b);
}

/* At another size once is enough if the last element has changed as a whole, which one in 64 does not by
 * chance. But there a reference may end within an element. */
static void test_other_size(void **state) {
    (void)state;
    enum { TRIES = 5 };
    bench b;
    int fewest = 2;
    open_own(&b, "f32", "out", 16, "((float *)y)[I] = x[I];", "");
    for (int i = 0; i < TRIES && fewest > 1; i++) {
        open_set(&b, TT__FIRST_DATA, true);
        assert_true(b.v[0].whole);
        fewest = n_runs;
        tt__verifier_close(&b.v[0]);
    }
    assert_int_equal(fewest, 1);
    close_bench(&b);
    open_own(&b, "f32", "out", 16,
             "for (int k = 0; k < (I < n - 1 ? 4 : 1); k++) ((char *)y)[4 * I + k] = (char)I;", "");
    for (int i = 0; i < TRIES; i++) {
        open_set(&b, TT__FIRST_DATA, true);
        assert_int_equal(n_runs, 2);
        assert_false(b.v[0].whole);
        tt__verifier_close(&b.v[0]);
    }
    close_bench(&b);
}

/* ---- What one run shows ---- */

static tt__trial_status verify(bench *b, tt__data_set set, int fault, char reason[TT__REASON_MAX]) {
    char config[16];
    tt__candidate c;
    tt__kernel kernel;
    tt__trial trial = {0};
    snprintf(config, sizeof config, "F=%d", fault);
    OK(tt__space_resolve(&c, b->t, &b->gpu, &b->p, config));
    const char *cubin = compile(b, b->t->path, b->t->source, &c.configuration);
    OK(tt__kernel_load(&kernel, cu, cubin, 0, &b->t->symbols, &c.launch));
    OK(tt__verify(&b->v[set], &kernel, &c.launch, &trial, NULL));
    tt__kernel_unload(&kernel, cu);
    tt__str_free(&b->cubins[--b->n_cubins]);
    tt__copy(reason, TT__REASON_MAX, trial.reason);
    return trial.status;
}

/* Which elements it writes may depend on the data. Nothing else is poisoned, and nothing else may be written;
 * one that is left out is found. */
static void test_written(void **state) {
    (void)state;
    enum { N = 1000 };
    bench b;
    float x[N];
    unsigned char bits[N * 4 / 8 + 1];
    char reason[TT__REASON_MAX];
    open_own(&b, "f32", "out", 16, "if (x[I] > 0) ((float *)y)[I] = x[I];",
             "bool last = x[I] > 0;"
             "for (int k = I + 1; k < n; k++) last = last && !(x[k] > 0);"
             "if ((x[I] > 0 && !(F == 1 && last)) || (F == 2 && I == n - 1)) ((float *)y)[I] = x[I];");
    for (int set = 0; set < 2; set++) {
        open_set(&b, (tt__data_set)set, false);
        const tt__verifier *v = &b.v[set];
        const tt__area *y = &v->areas[1];
        int n_written = 0;
        CU_OK(cu->cuMemcpyDtoH(x, v->areas[0].operand, sizeof x));
        CU_OK(cu->cuMemcpyDtoH(bits, y->written + y->head / 8, sizeof bits));
        const size_t shift = y->head % 8;
        for (size_t i = 0; i < N; i++)
            for (size_t k = 4 * i + shift; k < 4 * i + shift + 4; k++) {
                assert_int_equal(bits[k / 8] >> k % 8 & 1, x[i] > 0);
                n_written += x[i] > 0;
            }
        assert_in_range(n_written, N, 3 * N);
        assert_int_equal(verify(&b, (tt__data_set)set, 0, reason), TT__TRIAL_OK);
        assert_int_equal(verify(&b, (tt__data_set)set, 1, reason), TT__TRIAL_WRONG_RESULT);
        assert_non_null(strstr(reason, "first wrong element at y["));
        assert_false(x[N - 1] > 0); /* these numbers are the same in each run */
        assert_int_equal(verify(&b, (tt__data_set)set, 2, reason), TT__TRIAL_WRONG_RESULT);
        assert_non_null(strstr(reason, "which the reference does not write"));
    }
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_built_in),
        cmocka_unit_test(test_per_configuration),
        cmocka_unit_test(test_other_size),
        cmocka_unit_test(test_written),
    };
    if (!device_open())
        return device_missing();
    return cmocka_run_group_tests_name("survey", tests, NULL, NULL);
}
