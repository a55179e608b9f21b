/* Plans for kernels of one's own: what they take, what they refuse, and what launches leave in memory. */
#include "own.h"

static void test_launches_untuned(void **state) {
    (void)state;
    tt_kernel *k = open_text(source);
    tt_choice choice = TT_INIT(tt_choice);
    tt_plan *plan;
    given g;
    OK(kernel_best(&choice, k, NULL));
    assert_int_equal(choice.match, TT_MATCH_DEFAULT);
    assert_string_equal(choice.config, "STEP=1 EACH=1");
    assert_string_equal(choice.why, "nothing was tuned for this: run \"tune --kernel own.cu\"");
    assert_int_equal(choice.unverified, 0); /* it has a reference */
    OK(kernel_plan(&plan, k, "n=777"));
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
    tt_argument arg = TT_INIT(tt_argument);
    tt_plan *plan;
    OK(kernel_plan(&plan, k, "T=f64, n=1500"));
    assert_int_equal(tt_plan_n_arguments(plan), N_ARGS);
    for (size_t i = 0; i < N_ARGS; i++) {
        OK(tt_plan_argument(&arg, plan, i));
        assert_int_equal(arg.size, sizeof arg);
        assert_string_equal(arg.name, expected[i].name);
        assert_string_equal(arg.type, expected[i].type);
        assert_string_equal(arg.direction, expected[i].direction);
        assert_int_equal(arg.count, expected[i].count);
        assert_int_equal(arg.bytes, expected[i].bytes);
    }
    refused(tt_plan_argument(&arg, plan, N_ARGS), TT_E_INVALID, "argument 5 of a plan with 5");
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
            OK(kernel_plan(&plans[i ^ (round & 1)], k, i ^ (round & 1) ? "n=300,T=f64" : "n=300,T=f32"));
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
    tt_plan *plan;
    given g;
    OK(kernel_plan(&plan, k, "n=64"));
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
    for (int of_scratch = 0; of_scratch < 2; of_scratch++) { /* y is written, parts is scratch memory */
        CUdeviceptr *at = of_scratch ? &g.parts : &g.y, before = *at;
        *at = g.x;
        refused(tt_plan_launch_args(plan, g.args, 5, NULL), TT_E_INVALID,
                of_scratch ? "x and parts are both 0x" : "x and y are both 0x");
        *at = before;
    }
    g.args[4] = NULL;
    refused(tt_plan_launch_args(plan, g.args, 5, NULL), TT_E_INVALID,
            "argument 4, b, is NULL: it must point to the scalar");
    check(&g, 64, 0);
    refused(tt_plan_launch(plan, g.y, g.x, NULL), TT_E_INVALID,
            "parts_of does not go from one buffer to another: tt_plan_launch_args launches it");
    tt_plan_free(&plan);
    refused(kernel_plan(&plan, k, "m=64"), TT_E_INVALID, "parts_of has no variable m");
    assert_null(plan);
    refused(kernel_plan(&plan, k, "n=0"), TT_E_INVALID, "n is 0");
    drop(&g);
    tt_kernel_close(&k);
}

/* A plan of a matrix has arguments as any other, and is launched either way. */
static void test_matrices_have_arguments(void **state) {
    (void)state;
    tt_problem p = TT_INIT(tt_problem);
    tt_argument arg = TT_INIT(tt_argument);
    tt_plan *plan;
    given g;
    p.rows = 16;
    p.cols = 8;
    OK(tt_plan_create(&plan, ctx, &p));
    assert_int_equal(tt_plan_n_arguments(plan), 2);
    for (size_t i = 0; i < 2; i++) {
        OK(tt_plan_argument(&arg, plan, i));
        assert_string_equal(arg.name, i ? "dst" : "src");
        assert_string_equal(arg.direction, i ? "out" : "in");
        assert_int_equal(arg.count, 128);
        assert_int_equal(arg.bytes, 512);
    }
    for (int by_args = 0; by_args < 2; by_args++) {
        float y[128];
        make(&g, 4, 1, 1);
        OK(by_args ? tt_plan_launch_args(plan, (void *[]){&g.x, &g.y}, 2, NULL)
                   : tt_plan_launch(plan, g.y, g.x, NULL));
        CU_OK(cu->cuCtxSynchronize());
        CU_OK(cu->cuMemcpyDtoH(y, g.y, sizeof y));
        for (int i = 0; i < 128; i++)
            assert_true((double)y[i % 8 * 16 + i / 8] == x_at(i));
        drop(&g);
    }
    tt_plan_free(&plan);
}

/* A length that cannot be, and a grid that no device has, in problems that the file cannot foresee. */
static void test_refuses_problems(void **state) {
    (void)state;
    tt_kernel *k = open_text(source);
    tt_choice choice = TT_INIT(tt_choice);
    tt_report *report;
    tt_plan *plan;
    const char *huge[] = {"n=281474976710656"}, *large[] = {"n=70368744177"};
    refused(kernel_plan(&plan, k, huge[0]), TT_E_UNSUPPORTED,
            "no configuration of parts_of is legal for n=281474976710656, T=f32 on ");
    refused(kernel_best(&choice, k, huge[0]), TT_E_UNSUPPORTED, "no configuration of parts_of is legal");
    refused(kernel_tune(&report, k, huge, 1, NULL), TT_E_TEMPLATE,
            "own.cu:4:19: the length of x `n` comes to");
    assert_null(report);
    refused(kernel_tune(&report, k, large, 1, NULL), TT_E_INVALID, "GB of device memory");
    assert_null(report);
    tt_kernel_close(&k);
}

/* `args` against what the kernel takes: the passes and the reference, in number and in bytes. Nothing is
 * launched before. */
static void test_compares_args(void **state) {
    (void)state;
    static const struct {
        const char *old, *new, *says;
        bool reference; /* which a plan does not launch */
    } cases[] = {
        {"args      parts, x, i64 n, i32 EACH", "args      parts, x, i32 n, i32 EACH",
         "parameter 3 of parts_of has 8 bytes, but item 3 of its `args` (i32) has 4: make `args` name",
         false},
        {"args      y, x, parts, a, b, i64 n", "args      y, x, parts, b, a, i64 n",
         "parameter 4 of whole has 8 bytes, but item 4 of its `args` has 4", false},
        {"args      parts, x, i64 n, i32 EACH", "args      parts, x, i64 n",
         "parts_of has 4 parameters, but its `args` has 3 items", false},
        {"args      y, x, a, b, i64 n", "args      y, x, a, b, i64 n, i64 n",
         "plain has 5 parameters, but its `args` has 6 items", true},
    };
    static const char *const problems[] = {"n=64,T=f64"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[sizeof source + 64];
        const char *at = strstr(source, cases[i].old);
        assert_non_null(at);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - source), source, cases[i].new,
                 at + strlen(cases[i].old));
        tt_kernel *k = open_text(text);
        tt_plan *plan;
        tt_report *report;
        if (!cases[i].reference) {
            refused(kernel_plan(&plan, k, problems[0]), TT_E_TEMPLATE, cases[i].says);
            assert_null(plan);
        }
        tt_status status = kernel_tune(&report, k, problems, 1, NULL);
        if (cases[i].reference) {
            refused(status, TT_E_TEMPLATE, cases[i].says);
        } else {
            assert_int_equal(status, TT_E_NO_WINNER);
            assert_int_equal(tt_report_result(report, 0)->failed, 4);
            assert_string_equal(tt_report_result(report, 0)->kernel, "");
            if (!strstr(tt_report_result(report, 0)->note, cases[i].says))
                fail_msg("%s", tt_report_result(report, 0)->note);
        }
        tt_report_free(&report);
        tt_kernel_close(&k);
    }
}

static void test_capture(void **state) {
    (void)state;
    device_graphs graphs;
    device_graphs_open(&graphs);
    tt_kernel *k = open_text(source);
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    tt_plan *plan;
    given g;
    make(&g, 4, 2, 1);
    OK(kernel_plan(&plan, k, "n=500"));
    CU_OK(cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU_OK(graphs.begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(tt_plan_launch_args(plan, g.args, N_ARGS, stream));
    CU_OK(graphs.end_capture(stream, &graph));
    CU_OK(graphs.instantiate(&exec, graph, 0));
    check(&g, 500, 0);
    for (int i = 0; i < 3; i++)
        CU_OK(graphs.launch(exec, stream));
    CU_OK(cu->cuStreamSynchronize(stream));
    check(&g, 500, 3);
    CU_OK(graphs.destroy_exec(exec));
    CU_OK(graphs.destroy(graph));
    CU_OK(cu->cuStreamDestroy(stream));
    tt_plan_free(&plan);
    tt_kernel_close(&k);
    drop(&g);
}

/* Arguments that each launch makes anew: addresses in a struct, a tensor map, the number of a turn. In a
 * cooperative launch of clusters. */
static const char made[] =
    "//@ kernel    steps\n"
    "//@ problem   n 256\n"
    "//@ buffer    x f32 n in\n"
    "//@ buffer    y f32 n inout\n"
    "//@ scalar    a f32 2\n"
    "//@ tensormap map x (n) box (16)\n"
    "//@ block     64\n"
    "//@ grid      n / 64\n"
    "//@ cluster   2\n"
    "//@ launch    cooperative\n"
    "//@ args      struct (y, i32 n, a, x), map, i32 k\n"
    "//@ repeat    3 as k from 1 times 2\n"
    "//@ reference plain\n"
    "//@ block     1\n"
    "//@ grid      1\n"
    "//@ args      y, x, i32 n, a\n"
    "#ifndef __HOSTCUDA__\n#include <cuda.h>\n#endif\n"
    "struct values { float *y; int n; float a; const float *x; };\n"
    "extern \"C\" __global__ void steps(values p, const __grid_constant__ CUtensorMap map, int k) {\n"
    "    const int i = blockIdx.x * 64 + threadIdx.x;\n"
    "#ifdef __HOSTCUDA__\n"
    "    if (map.hostcuda_at != (const unsigned char *)p.x || map.hostcuda_dims[0] != p.n) return;\n"
    "#endif\n"
    "    if (i < p.n) p.y[i] += p.a * k * p.x[i];\n"
    "}\n"
    "extern \"C\" __global__ void plain(float *y, const float *x, int n, float a) {\n"
    "    for (int i = 0; i < n; i++) y[i] += a * 7 * x[i];\n"
    "}\n";

static void expect_made(const given *g, int launches) {
    unsigned char y[MOST * 4];
    CU_OK(cu->cuCtxSynchronize());
    CU_OK(cu->cuMemcpyDtoH(y, g->y, sizeof y));
    for (int i = 0; i < MOST; i++)
        assert_true(get(y, 4, i) == y_at(i) + (i < 256 ? launches * 3 * 7 * x_at(i) : 0));
}

static void test_arguments_that_launches_make(void **state) {
    (void)state;
    device_graphs graphs;
    tt_kernel *k = open_text(made);
    float a = 3;
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    tt_plan *plan;
    given g;
    device_graphs_open(&graphs);
    const tt_status status = kernel_plan(&plan, k, NULL);
    if (status == TT_E_UNSUPPORTED) { /* before compute capability 9.0 */
        tt_kernel_close(&k);
        skip();
    }
    OK(status);
    make(&g, 4, 3, 5);
    void *args[] = {&g.x, &g.y, &a};
    OK(tt_plan_launch_args(plan, args, 3, NULL));
    expect_made(&g, 1);
    CU_OK(cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU_OK(graphs.begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(tt_plan_launch_args(plan, args, 3, stream));
    CU_OK(graphs.end_capture(stream, &graph));
    CU_OK(graphs.instantiate(&exec, graph, 0));
    for (int i = 2; i < 4; i++) {
        CU_OK(graphs.launch(exec, stream));
        expect_made(&g, i);
    }
    CU_OK(graphs.destroy_exec(exec));
    CU_OK(graphs.destroy(graph));
    CU_OK(cu->cuStreamDestroy(stream));
    tt_plan_free(&plan);
    tt_kernel_close(&k);
    drop(&g);
}

/* y = x times a constant, by instances of templates without extern "C". */
static const char weighted[] =
    "//@ kernel    in::weigh<EACH, T>\n"
    "//@ problem   n 1000\n"
    "//@ type      T f32 f64\n"
    "//@ buffer    x T n in\n"
    "//@ constant  weights T 3 + 1 uniform 1 2\n"
    "//@ buffer    y T n out\n"
    "//@ param     EACH 1 2\n"
    "//@ block     64\n"
    "//@ grid      ceil_div(n, 64 * EACH)\n"
    "//@ args      y, x, i32 n\n"
    "//@ default   EACH=2\n"
    "//@ reference in::weigh<1, T>\n"
    "//@ block     64\n"
    "//@ grid      ceil_div(n, 64)\n"
    "//@ args      y, x, i32 n\n"
    "__constant__ T weights[4];\n"
    "namespace in { template <int N, class U> __global__ void weigh(U *y, const U *x, int n) {\n"
    "    for (int k = 0; k < N; k++) {\n"
    "        const int i = (blockIdx.x * N + k) * 64 + threadIdx.x;\n"
    "        if (i < n)\n"
    "            y[i] = x[i] * weights[i % 4];\n"
    "    }\n"
    "} }\n";

static void test_constants(void **state) {
    (void)state;
    static const float weights[] = {1, 2, 4, 8};
    tt_kernel *k = open_text(weighted);
    tt_plan *plan;
    given g;
    unsigned char y[MOST * 4];
    OK(kernel_plan(&plan, k, "n=777"));
    tt_kernel_close(&k);
    make(&g, 4, 3, 5);
    void *args[] = {&g.x, &g.y};
    assert_int_equal(tt_plan_n_arguments(plan), 2);
    refused(tt_plan_launch_args(plan, args, 2, NULL), TT_E_INVALID,
            "the constant weights of weigh has no data yet");
    refused(tt_plan_launch(plan, g.y, g.x, NULL), TT_E_INVALID, "the constant weights");
    refused(tt_plan_set_constant(plan, "weight", weights, 16), TT_E_INVALID, "did you mean weights?");
    refused(tt_plan_set_constant(plan, "weights", weights, 12), TT_E_INVALID,
            "12 bytes for the constant weights, which has 16: 4 elements of f32");
    OK(tt_plan_set_constant(plan, "weights", weights, sizeof weights));
    OK(tt_plan_launch(plan, g.y, g.x, NULL));
    CU_OK(cu->cuCtxSynchronize());
    CU_OK(cu->cuMemcpyDtoH(y, g.y, sizeof y));
    for (int i = 0; i < MOST; i++)
        assert_true(get(y, 4, i) == (i < 777 ? x_at(i) * (double)weights[i % 4] : y_at(i)));
    tt_plan_free(&plan);
    drop(&g);
}

/* A plan says the lengths of its configuration, and not the largest of all. */
static void test_lengths_by_parameters(void **state) {
    (void)state;
    static const char text[] = "//@ kernel  sums\n"
                               "//@ problem n 1000\n"
                               "//@ buffer  x f32x4 n in\n"
                               "//@ type    T f32 f64\n"
                               "//@ buffer  parts f32 sizeof(T) * ceil_div(n, BLOCK) out\n"
                               "//@ param   BLOCK 32 64\n"
                               "//@ block   BLOCK\n"
                               "//@ grid    ceil_div(n, BLOCK)\n"
                               "//@ args    parts, x\n"
                               "//@ default BLOCK=64\n"
                               "extern \"C\" __global__ void sums(float *parts, const float *x) {}\n";
    tt_kernel *k = open_text(text);
    tt_argument arg = TT_INIT(tt_argument);
    tt_plan *plan;
    OK(kernel_plan(&plan, k, "n=100,T=f64"));
    OK(tt_plan_argument(&arg, plan, 0));
    assert_int_equal(arg.count, 400); /* of single numbers */
    assert_int_equal(arg.bytes, 1600);
    OK(tt_plan_argument(&arg, plan, 1));
    assert_int_equal(arg.count, 2 * 8);
    tt_plan_free(&plan);
    tt_kernel_close(&k);
}

/* Buffers and scalars that only other kernels get are no arguments: `wide` and `half` belong to the
 * reference, and `raw` to `data`. A struct, and buffers that change places, count as a use. */
static const char with_helpers[] =
    "//@ kernel    step\n"
    "//@ problem   n 256\n"
    "//@ scalar    half f32 0.5\n"
    "//@ buffer    wide f64 n scratch\n"
    "//@ buffer    raw f32 n in uniform 0 1\n"
    "//@ buffer    x f32 n in\n"
    "//@ constant  c f32 1 uniform 2 2\n"
    "//@ buffer    source f32 n in\n"
    "//@ buffer    same f32 n in source\n"
    "//@ buffer    y f32 n inout\n"
    "//@ buffer    held f32 n scratch\n"
    "//@ scalar    a f32 2\n"
    "//@ block     64\n"
    "//@ grid      n / 64\n"
    "//@ repeat    2\n"
    "//@ swap      y held\n"
    "//@ args      struct (held, i32 n, a, x), y, same\n"
    "//@ data      pack\n"
    "//@ block     64\n"
    "//@ grid      n / 64\n"
    "//@ args      x, raw\n"
    "//@ reference widen\n"
    "//@ block     64\n"
    "//@ grid      n / 64\n"
    "//@ args      wide, y, x, same, a, half\n"
    "//@ reference narrow\n"
    "//@ block     64\n"
    "//@ grid      n / 64\n"
    "//@ args      y, wide\n"
    "//@ tolerance rel 1e-5\n"
    "__constant__ float c[1];\n"
    "struct values { float *to; int n; float a; const float *x; };\n"
    "extern \"C\" __global__ void step(values p, const float *y, const float *same) {\n"
    "    const int i = blockIdx.x * 64 + threadIdx.x;\n"
    "    p.to[i] = y[i] + p.a * p.x[i] + same[i] + c[0];\n"
    "}\n"
    "extern \"C\" __global__ void pack(float *x, const float *raw) {\n"
    "    const int i = blockIdx.x * 64 + threadIdx.x;\n"
    "    x[i] = raw[i] + 1;\n"
    "}\n"
    "extern \"C\" __global__ void widen(double *wide, const float *y, const float *x, const float *same,\n"
    "                                 float a, float half) {\n"
    "    const int i = blockIdx.x * 64 + threadIdx.x;\n"
    "    wide[i] = half * y[i] + a * x[i] + same[i] + c[0];\n"
    "}\n"
    "extern \"C\" __global__ void narrow(float *y, const double *wide) {\n"
    "    const int i = blockIdx.x * 64 + threadIdx.x;\n"
    "    y[i] = (float)(2 * wide[i]);\n"
    "}\n";

static void test_others_arguments(void **state) {
    (void)state;
    static const char *const names[] = {"x", "source", "same", "y", "held", "a"};
    enum { N = sizeof names / sizeof *names };
    static const float c = 4;
    tt_kernel *k = open_text(with_helpers);
    tt_argument arg = TT_INIT(tt_argument);
    tt_plan *plan;
    tt_report *report;
    CUdeviceptr same;
    given g;
    OK(kernel_tune(&report, k, &(const char *){""}, 1, NULL)); /* verified, whatever the order is */
    assert_int_equal(tt_report_result(report, 0)->failed, 0);
    assert_string_equal(tt_report_result(report, 0)->note, "");
    tt_report_free(&report);
    OK(kernel_plan(&plan, k, NULL));
    tt_kernel_close(&k);
    assert_int_equal(tt_plan_n_arguments(plan), N);
    for (size_t i = 0; i < N; i++) {
        OK(tt_plan_argument(&arg, plan, i));
        assert_string_equal(arg.name, names[i]);
    }
    make(&g, 4, 3, 5);
    CU_OK(cu->cuMemAlloc(&same, 256 * 4));
    CU_OK(cu->cuMemsetD8Async(same, 0, 256 * 4, NULL));
    void *args[N] = {&g.x, &same, &same, &g.y, &g.parts, &g.a32};
    refused(tt_plan_launch_args(plan, args, N, NULL), TT_E_INVALID, "the constant c of step has no data yet");
    OK(tt_plan_set_constant(plan, "c", &c, sizeof c));
    OK(tt_plan_launch_args(plan, args, N, NULL));
    unsigned char y[256 * 4];
    CU_OK(cu->cuCtxSynchronize());
    CU_OK(cu->cuMemcpyDtoH(y, g.y, sizeof y));
    for (int i = 0; i < 256; i++)
        assert_true(get(y, 4, i) == y_at(i) + 2 * (3 * x_at(i) + 4));
    CU_OK(cu->cuMemFree(same));
    tt_plan_free(&plan);
    drop(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_others_arguments),
        cmocka_unit_test(test_lengths_by_parameters),
        cmocka_unit_test(test_arguments_that_launches_make),
        cmocka_unit_test(test_launches_untuned),
        cmocka_unit_test(test_says_what_it_takes),
        cmocka_unit_test(test_types_are_told_apart),
        cmocka_unit_test(test_refuses_arguments),
        cmocka_unit_test(test_matrices_have_arguments),
        cmocka_unit_test(test_refuses_problems),
        cmocka_unit_test(test_compares_args),
        cmocka_unit_test(test_capture),
        cmocka_unit_test(test_constants),
    };
    return device_open() ? cmocka_run_group_tests(tests, setup, teardown) : device_missing();
}
