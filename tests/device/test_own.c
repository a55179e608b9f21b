/* Kernels of one's own through the library: opened, looked up, tuned, launched with the caller's arguments,
 * and what they leave in memory, computed here once more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "device.h"

/* y += a * x + b + the sum of the 256 numbers of x around it; two passes with scratch between them. Whatever
 * the type, n ends with a part of a block. All numbers are small and whole in the tests: every sum is exact.
 */
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

static tt_kernel *open_text(const char *text) {
    tt_kernel *k;
    OK(tt_kernel_open(&k, ctx, "own.cu", text));
    return k;
}

static void refused(tt_status status, tt_status expected, const char *says) {
    if (status != expected || !strstr(tt_last_error(), says))
        fail_msg("status %d: %s\n  expected %d: %s", status, tt_last_error(), expected, says);
}

/* ---- Opening ------------------------------------------------------------------------------------------- */

static void test_opens(void **state) {
    (void)state;
    char path[128];
    tt_kernel *k;
    snprintf(path, sizeof path, "%s/own.cu", folder);
    refused(tt_kernel_open(&k, ctx, path, NULL), TT_E_IO, path);
    assert_null(k);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(source, f) >= 0);
    fclose(f);
    OK(tt_kernel_open(&k, ctx, path, NULL));
    assert_string_equal(tt_kernel_name(k), "parts_of");
    tt_kernel_close(&k);
    assert_null(k);
    tt_kernel_close(&k);
    OK(tt_kernel_open(&k, ctx, "nowhere.cu", source));
    assert_string_equal(tt_kernel_name(k), "parts_of");
    tt_kernel_close(&k);
    refused(tt_kernel_open(&k, ctx, NULL, source), TT_E_INVALID, "path is NULL");
    assert_null(k);
    refused(tt_kernel_open(&k, ctx, "own.cu", "//@ kernle k\n"), TT_E_TEMPLATE,
            "own.cu:1:5: unknown annotation 'kernle'; did you mean kernel?");
    assert_null(k);
    refused(tt_kernel_open(&k, ctx, "copy.cu",
                           "//@ kernel mine\n//@ op copy\n//@ block 1\n//@ grid 1\n//@ args dst\n"
                           "extern \"C\" __global__ void mine(int *dst) {}\n"),
            TT_E_INVALID, "copy.cu is a template for `op copy`");
    assert_null(k);
}

/* ---- Launching ----------------------------------------------------------------------------------------- */

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

/* Buffers with a guard behind y; the scratch is full of what must not matter. */
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

static void test_launches_untuned(void **state) {
    (void)state;
    tt_kernel *k = open_text(source);
    tt_choice choice = TT_INIT(tt_choice);
    tt_plan *plan;
    given g;
    OK(tt_kernel_best(&choice, k, NULL));
    assert_int_equal(choice.match, TT_MATCH_DEFAULT);
    assert_string_equal(choice.config, "STEP=1 EACH=1");
    assert_string_equal(choice.why, "nothing was tuned for this kernel");
    assert_int_equal(choice.unverified, 0); /* it has a reference */
    OK(tt_kernel_plan(&plan, k, "n=777"));
    tt_kernel_close(&k); /* plans live on */
    make(&g, 4, 3, 5);
    OK(tt_plan_launch_args(plan, g.args, N_ARGS, NULL));
    check(&g, 777, 1);
    OK(tt_plan_launch_args(plan, g.args, N_ARGS, NULL));
    check(&g, 777, 2);
    tt_plan_free(&plan);
    drop(&g);
}

static void test_says_what_it_takes(void **state) {
    (void)state;
    static const struct {
        const char *name, *type, *direction;
        int64_t count;
        size_t bytes;
    } expected[N_ARGS] = {{"x", "f64", "in", 1500, 12000},
                          {"parts", "f64", "scratch", 6, 48},
                          {"y", "f64", "inout", 1500, 12000},
                          {"a", "f64", "scalar", 0, 0},
                          {"b", "i32", "scalar", 0, 0}};
    tt_kernel *k = open_text(source);
    tt_argument args[N_ARGS + 1] = {{0}};
    tt_plan *plan;
    OK(tt_kernel_plan(&plan, k, "T=f64, n=1500"));
    assert_int_equal(tt_plan_arguments(plan, NULL, 0), N_ARGS);
    assert_int_equal(tt_plan_arguments(plan, args, 2), N_ARGS);
    assert_int_equal(args[2].size, 0);
    assert_int_equal(tt_plan_arguments(plan, args, N_ARGS + 1), N_ARGS);
    for (int i = 0; i < N_ARGS; i++) {
        assert_int_equal(args[i].size, sizeof *args);
        assert_string_equal(args[i].name, expected[i].name);
        assert_string_equal(args[i].type, expected[i].type);
        assert_string_equal(args[i].direction, expected[i].direction);
        assert_int_equal(args[i].count, expected[i].count);
        assert_int_equal(args[i].bytes, expected[i].bytes);
    }
    assert_int_equal(args[N_ARGS].size, 0);
    tt_plan_free(&plan);
    tt_kernel_close(&k);
}

/* Two types of one configuration are two cubins, whichever comes first, and from the store as well. */
static void test_types_are_told_apart(void **state) {
    (void)state;
    tt_kernel *k = open_text(source);
    for (int round = 0; round < 3; round++) {
        tt_plan *plans[2];
        given g[2];
        for (int i = 0; i < 2; i++)
            OK(tt_kernel_plan(&plans[i ^ (round & 1)], k, i ^ (round & 1) ? "n=300,T=f64" : "n=300,T=f32"));
        make(&g[0], 4, 2, 1);
        make(&g[1], 8, 2, 1);
        for (int turn = 1; turn < 3; turn++)
            for (int i = 0; i < 2; i++) {
                OK(tt_plan_launch_args(plans[i], g[i].args, N_ARGS, NULL));
                check(&g[i], 300, turn);
            }
        for (int i = 0; i < 2; i++) {
            drop(&g[i]);
            tt_plan_free(&plans[i]);
        }
    }
    tt_kernel_close(&k);
}

static void test_refuses_arguments(void **state) {
    (void)state;
    tt_kernel *k = open_text(source);
    tt_problem p = TT_INIT(tt_problem);
    tt_plan *plan, *transpose;
    given g;
    OK(tt_kernel_plan(&plan, k, "n=64"));
    make(&g, 4, 1, 1);
    refused(tt_plan_launch_args(plan, g.args, 4, NULL), TT_E_INVALID,
            "4 arguments for parts_of, which takes 5: x first");
    refused(tt_plan_launch_args(plan, g.args, 6, NULL), TT_E_INVALID,
            "6 arguments for parts_of, which takes 5");
    refused(tt_plan_launch_args(plan, NULL, 5, NULL), TT_E_INVALID, "argument 0, x, is NULL");
    CUdeviceptr y = g.y;
    g.y = 0;
    refused(tt_plan_launch_args(plan, g.args, 5, NULL), TT_E_INVALID,
            "y is 0x0: it must be a device address");
    g.y = y + 8;
    refused(tt_plan_launch_args(plan, g.args, 5, NULL), TT_E_INVALID, "that is a multiple of 16 bytes");
    g.y = y;
    g.args[4] = NULL;
    refused(tt_plan_launch_args(plan, g.args, 5, NULL), TT_E_INVALID,
            "argument 4, b, is NULL: it must point to the scalar");
    check(&g, 64, 0);
    refused(tt_plan_launch(plan, g.y, g.x, NULL), TT_E_INVALID,
            "a plan for parts_of: tt_plan_launch_args launches it");
    p.rows = p.cols = 16;
    OK(tt_plan_create(&transpose, ctx, &p));
    assert_int_equal(tt_plan_arguments(transpose, NULL, 0), 0);
    refused(tt_plan_launch_args(transpose, g.args, 2, NULL), TT_E_INVALID, "a plan for a transpose");
    tt_plan_free(&transpose);
    tt_plan_free(&plan);
    refused(tt_kernel_plan(&plan, k, "m=64"), TT_E_INVALID, "parts_of has no variable m");
    assert_null(plan);
    refused(tt_kernel_plan(&plan, k, "n=0"), TT_E_INVALID, "n is 0");
    drop(&g);
    tt_kernel_close(&k);
}

/* A length that cannot be, and a grid that no device has, in problems that the file cannot foresee. */
static void test_refuses_problems(void **state) {
    (void)state;
    tt_kernel *k = open_text(source);
    tt_choice choice = TT_INIT(tt_choice);
    tt_report *report;
    tt_plan *plan;
    const char *huge[] = {"n=281474976710656"}, *large[] = {"n=70368744177"};
    refused(tt_kernel_plan(&plan, k, huge[0]), TT_E_UNSUPPORTED,
            "has no legal configuration for n=281474976710656");
    refused(tt_kernel_best(&choice, k, huge[0]), TT_E_UNSUPPORTED, "has no legal configuration");
    refused(tt_kernel_tune(&report, k, huge, 1, NULL), TT_E_TEMPLATE,
            "own.cu:4:19: the length of x `n` comes to");
    assert_null(report);
    refused(tt_kernel_tune(&report, k, large, 1, NULL), TT_E_INVALID, "GB of device memory");
    assert_null(report);
    tt_kernel_close(&k);
}

static void test_capture(void **state) {
    (void)state;
    CUresult (*begin)(CUstream stream, CUstreamCaptureMode mode);
    CUresult (*end)(CUstream stream, CUgraph * out);
    CUresult (*instantiate)(CUgraphExec * out, CUgraph graph, unsigned long long flags);
    CUresult (*replay)(CUgraphExec exec, CUstream stream);
    CUresult (*destroy)(CUgraph graph);
    CUresult (*destroy_exec)(CUgraphExec exec);
    device_symbol(&begin, "cuStreamBeginCapture_v2");
    device_symbol(&end, "cuStreamEndCapture");
    device_symbol(&instantiate, "cuGraphInstantiateWithFlags");
    device_symbol(&replay, "cuGraphLaunch");
    device_symbol(&destroy, "cuGraphDestroy");
    device_symbol(&destroy_exec, "cuGraphExecDestroy");
    tt_kernel *k = open_text(source);
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    tt_plan *plan;
    given g;
    make(&g, 4, 2, 1);
    OK(tt_kernel_plan(&plan, k, "n=500"));
    CU_OK(cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU_OK(begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(tt_plan_launch_args(plan, g.args, N_ARGS, stream));
    CU_OK(end(stream, &graph));
    CU_OK(instantiate(&exec, graph, 0));
    check(&g, 500, 0);
    for (int i = 0; i < 3; i++)
        CU_OK(replay(exec, stream));
    CU_OK(cu->cuStreamSynchronize(stream));
    check(&g, 500, 3);
    CU_OK(destroy_exec(exec));
    CU_OK(destroy(graph));
    CU_OK(cu->cuStreamDestroy(stream));
    tt_plan_free(&plan);
    tt_kernel_close(&k);
    drop(&g);
}

/* ---- Tuning -------------------------------------------------------------------------------------------- */

static tt_report *tune(tt_kernel *k, const char *const *problems, size_t n) {
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    tt_report *report;
    opts.jobs = 2;
    OK(tt_kernel_tune(&report, k, problems, n, &opts));
    assert_int_equal(report->n_results, n);
    return report;
}

static void test_tunes(void **state) {
    (void)state;
    static const char *const problems[] = {"n=1500", "n=1500,T=f64", "n=400,warm"};
    static const char *const words[] = {"n=1500, T=f32", "n=1500, T=f64", "n=400, T=f32"};
    tt_kernel *k = open_text(source);
    tt_report *report = tune(k, problems, 3);
    tt_choice choice = TT_INIT(tt_choice);
    for (size_t i = 0; i < 3; i++) {
        const tt_result *r = &report->results[i];
        assert_string_equal(r->problem, words[i]);
        assert_string_equal(r->kernel, "parts_of");
        assert_int_equal(r->failed, 0);
        assert_int_equal(r->space, 4);
        assert_int_equal(r->trials, 4);
        assert_int_equal(r->elem_size, i == 1 ? 8 : 4);
        assert_int_equal(r->warm, i == 2);
        assert_int_equal(r->unverified, 0);
        assert_int_equal(r->source, TT_SOURCE_MEASURED);
        assert_non_null(strstr(r->metrics, "gbps "));
        assert_true(r->time_us > 0 && r->copy_us > 0 && r->gbps > 0);

        OK(tt_kernel_best(&choice, k, problems[i]));
        assert_int_equal(choice.match, TT_MATCH_EXACT);
        assert_string_equal(choice.kernel, "parts_of");
        assert_string_equal(choice.config, r->config);
        assert_string_equal(choice.problem, words[i]);
        assert_string_equal(choice.why, "");
        assert_int_equal(choice.unverified, 0);
        assert_true(choice.time_us == r->time_us);
        assert_true(choice.gbps > 0.999 * r->gbps && choice.gbps < 1.001 * r->gbps);
    }
    tt_report_free(&report);
    OK(tt_kernel_best(&choice, k,
                      "n=1400,T=f64")); /* nearer than what is nearly as far, but of another type */
    assert_int_equal(choice.match, TT_MATCH_NEAREST);
    assert_string_equal(choice.problem, "n=1500, T=f64");
    assert_int_equal(choice.unverified, 0);
    assert_non_null(strstr(choice.why, "measured for n=1500, T=f64"));
    OK(tt_kernel_best(&choice, k, "n=450,T=f64"));
    assert_int_equal(choice.match, TT_MATCH_NEAREST);
    OK(tt_kernel_best(&choice, k, "n=450,warm"));
    assert_string_equal(choice.problem, "n=400, T=f32");

    report = tune(k, problems, 3); /* and nothing is measured again */
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(report->results[i].source, TT_SOURCE_STORED);
    tt_report_free(&report);
    tt_kernel_close(&k);
}

/* What was tuned is launched: scalars are the caller's, not those of the tuner. */
static void test_launches_what_was_tuned(void **state) {
    (void)state;
    static const struct {
        const char *problem;
        int n, elem_size;
    } cases[] = {{"n=1500", 1500, 4}, {"T=f64,n=1500", 1500, 8}, {"n=401,warm", 401, 4}, {"n=1,T=f64", 1, 8}};
    tt_kernel *k = open_text(source);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt_plan *plan;
        given g;
        OK(tt_kernel_plan(&plan, k, cases[i].problem));
        assert_int_equal(tt_plan_choice(plan)->match, i < 2    ? TT_MATCH_EXACT
                                                      : i == 2 ? TT_MATCH_NEAREST
                                                               : TT_MATCH_DEFAULT); /* too far away */
        make(&g, cases[i].elem_size, -4, 100);
        OK(tt_plan_launch_args(plan, g.args, N_ARGS, NULL));
        check(&g, cases[i].n, 1);
        drop(&g);
        tt_plan_free(&plan);
    }
    tt_kernel_close(&k);
}

/* Results are stored under the hash of the text: another one is tuned anew, and is another kernel's winner.
 */
static void test_edited_files_are_stale(void **state) {
    (void)state;
    static const char *const problems[] = {"n=1500"};
    char edited[sizeof source + 64];
    tt_choice choice = TT_INIT(tt_choice);
    snprintf(edited, sizeof edited, "%s// One more line.\n", source);
    tt_kernel *k = open_text(edited), *old = open_text(source);
    OK(tt_kernel_best(&choice, k, problems[0]));
    assert_int_equal(choice.match, TT_MATCH_STALE);
    assert_non_null(strstr(choice.why, "template"));
    tt_report *report = tune(k, problems, 1);
    assert_int_equal(report->results[0].source, TT_SOURCE_MEASURED);
    assert_int_equal(report->results[0].trials, 4);
    tt_report_free(&report);
    OK(tt_kernel_best(&choice, k, problems[0]));
    assert_int_equal(choice.match, TT_MATCH_EXACT);
    OK(tt_kernel_best(&choice, old, problems[0]));
    assert_int_equal(choice.match, TT_MATCH_STALE);
    tt_kernel_close(&k);
    tt_kernel_close(&old);
}

/* Without a reference it must be asked for, and says so. */
static void test_unverified(void **state) {
    (void)state;
    static const char text[] =
        "//@ kernel    sets\n//@ problem   n 100\n//@ buffer    y i32 n out\n//@ block     32\n"
        "//@ grid      ceil_div(n, 32)\n//@ args      y, i64 n\n"
        "extern \"C\" __global__ void sets(int *y, long long n) {\n"
        "    long long i = (long long)blockIdx.x * 32 + threadIdx.x;\n"
        "    if (i < n) y[i] = (int)i;\n}\n";
    static const char *const problems[] = {NULL};
    tt_kernel *k = open_text(text);
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    tt_choice choice = TT_INIT(tt_choice);
    char edited[sizeof text + 64];
    tt_report *report;
    refused(tt_kernel_tune(&report, k, problems, 1, &opts), TT_E_INVALID,
            "sets names no reference, so that no result of it can be verified");
    assert_null(report);
    opts.unverified = 1;
    OK(tt_kernel_tune(&report, k, problems, 1, &opts));
    assert_int_equal(report->results[0].unverified, 1);
    assert_string_equal(report->results[0].problem, "n=100");
    tt_report_free(&report);
    static const struct {
        const char *problem;
        tt_match match;
    } rungs[] = {{"n=100", TT_MATCH_EXACT}, {"n=110", TT_MATCH_NEAREST}, {"n=100000000", TT_MATCH_DEFAULT}};
    for (size_t i = 0; i < sizeof rungs / sizeof *rungs; i++) {
        tt_plan *plan;
        OK(tt_kernel_best(&choice, k, rungs[i].problem));
        assert_int_equal(choice.match, rungs[i].match);
        assert_int_equal(choice.unverified, 1);
        OK(tt_kernel_plan(&plan, k, rungs[i].problem));
        assert_int_equal(tt_plan_choice(plan)->match, rungs[i].match);
        assert_int_equal(tt_plan_choice(plan)->unverified, 1);
        tt_plan_free(&plan);
    }
    snprintf(edited, sizeof edited, "%s// One more line.\n", text);
    tt_kernel_close(&k);
    k = open_text(edited);
    OK(tt_kernel_best(&choice, k, "n=100"));
    assert_int_equal(choice.match, TT_MATCH_STALE);
    assert_int_equal(choice.unverified, 1);
    tt_kernel_close(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opens),
        cmocka_unit_test(test_launches_untuned),
        cmocka_unit_test(test_says_what_it_takes),
        cmocka_unit_test(test_types_are_told_apart),
        cmocka_unit_test(test_refuses_arguments),
        cmocka_unit_test(test_refuses_problems),
        cmocka_unit_test(test_capture),
        cmocka_unit_test(test_tunes),
        cmocka_unit_test(test_launches_what_was_tuned),
        cmocka_unit_test(test_edited_files_are_stale),
        cmocka_unit_test(test_unverified),
    };
    return device_open() ? cmocka_run_group_tests(tests, setup, teardown) : 77;
}
