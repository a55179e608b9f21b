/*
 * Templates that are launched early wait for the previous kernel before they read its results, in a stream
 * and in a graph. The previous kernel lets others begin at once, and writes much later.
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
#include "dispatch/plan.h"
#include "gpu/device.h"
#include "gpu/kernel.h"
#include "kernel/load/parse.h"
#include "kernel/model/template.h"
#include "kernel/space/config.h"
#include "kernel/space/space.h"

enum { SIDE = 128, BYTES = SIDE * SIDE * 8, TIMES = 20 };

static const char late_writer[] =
    "//@ kernel  late_writer\n//@ op      copy\n//@ block   256\n//@ grid    ceil_div(bytes, 1024)\n"
    "//@ args    dst, src, i64 bytes / 4\n"
    "extern \"C\" __global__ void late_writer(int *dst, const int *src, long long n) {\n"
    "    const long long i = blockIdx.x * 256ll + threadIdx.x;\n"
    "#if __CUDA_ARCH__ >= 900 && !defined __HOSTCUDA__\n"
    "    asm volatile(\"griddepcontrol.launch_dependents;\" ::: \"memory\");\n"
    "    for (const long long begin = clock64(); clock64() - begin < 40000;)\n        ;\n"
    "#endif\n"
    "    if (i < n)\n        dst[i] = src[i];\n}\n";

/* It says that it waits, and does so too late. */
static const char liar[] =
    "//@ kernel  liar\n//@ op      transpose\n//@ launch  early\n//@ block   32, 8\n"
    "//@ grid    ceil_div(cols, 32), ceil_div(rows, 8)\n//@ args    dst, src, i64 rows, i64 cols\n"
    "extern \"C\" __global__ void liar(int *dst, const int *src, long long rows, long long cols) {\n"
    "    const long long r = blockIdx.y * 8ll + threadIdx.y, c = blockIdx.x * 32ll + threadIdx.x;\n"
    "    if (r < rows && c < cols)\n        dst[c * rows + r] = src[r * cols + c];\n"
    "#if __CUDA_ARCH__ >= 900 && !defined __HOSTCUDA__\n"
    "    asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n#endif\n}\n";

typedef struct loaded {
    tt__problem p;
    tt__candidate c;
    tt__kernel kernel;
} loaded;

static tt__gpu gpu;
static CUstream stream;
static CUdeviceptr fresh, work, out;

static device_graphs graphs;

static int setup(void **state) {
    (void)state;
    device_graphs_open(&graphs);
    OK(tt__device_gpu(&gpu, 0));
    CU_OK(cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU_OK(cu->cuMemAlloc(&fresh, BYTES));
    CU_OK(cu->cuMemAlloc(&work, BYTES));
    CU_OK(cu->cuMemAlloc(&out, BYTES));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    CU_OK(cu->cuMemFree(fresh));
    CU_OK(cu->cuMemFree(work));
    CU_OK(cu->cuMemFree(out));
    CU_OK(cu->cuStreamDestroy(stream));
    return 0;
}

static void compile(loaded *l, const tt__template *t) {
    tt__str options, cubin = {0};
    int n;
    OK(tt__config_options(&options, &n, &l->c.configuration, &l->p));
    OK(tt__nvrtc_compile(&cubin, t->path, t->source, tt__str_text(&options), n, gpu.cc));
    OK(tt__kernel_load(&l->kernel, cu, cubin.text, cubin.len, &t->symbols, &l->c.launch));
    tt__str_free(&options);
    tt__str_free(&cubin);
}

static tt_status resolve(loaded *l, const tt__template *t, const tt__gpu *on, int64_t rows, int64_t cols,
                         int64_t batch, int elem_size) {
    l->p =
        matrix_for(t->op, (tt_problem){.rows = rows, .cols = cols, .batch = batch, .elem_size = elem_size});
    return tt__space_resolve(&l->c, t, on, &l->p, t->default_config);
}

/* Its default configuration for the first of these that it can do. Some templates are for matrices that
 * exceed the cache. */
static void load(loaded *l, const tt__template *t) {
    static const struct {
        int side, batch, elem_size;
    } squares[] = {
        {SIDE, 1, 4}, {SIDE - 1, 1, 4}, {SIDE - 1, 1, 8}, {SIDE - 1, 1, 1}, {8, BYTES / 64 / 4, 4}};
    enum { N = sizeof squares / sizeof *squares };
    tt__gpu small = gpu;
    small.l2_bytes = BYTES / 8;
    size_t i = 0;
    while (resolve(l, t, i < N ? &gpu : &small, squares[i % N].side, squares[i % N].side,
                   squares[i % N].batch, squares[i % N].elem_size) != TT_OK)
        if (++i == 2 * N)
            fail_msg("%s: none of the matrices is for it: %s", t->kernel, tt_last_error());
    compile(l, t);
}

static void load_writer(loaded *l, const tt__template *t) {
    OK(resolve(l, t, &gpu, BYTES / SIDE / 4, SIDE, 1, 4));
    compile(l, t);
}

static void launch(const loaded *l, CUdeviceptr dst, CUdeviceptr src) {
    void *operands[] = {&src, &dst};
    CU_OK(tt__kernel_launch(&l->kernel, cu, &l->c.launch, operands, stream));
}

static bool is_right(const tt__problem *p, const unsigned char *dst, const unsigned char *src) {
    if (strcmp(p->op, "copy") == 0)
        return memcmp(dst, src, (size_t)tt__problem_number(p, "bytes", 0)) == 0;
    const int side = (int)tt__problem_number(p, "rows", 0), elem_size = tt__problem_elem_size(p);
    const size_t matrix = (size_t)(side * side * elem_size);
    const size_t n = matrix * (size_t)tt__problem_number(p, "batch", 0);
    for (size_t at = 0; at < n; at += matrix)
        if (!transposed(dst + at, src + at, side, side, side, side, elem_size))
            return false;
    return true;
}

/* How often what it made of `work` is not what the writer put there last. */
static int count_wrong(const loaded *writer, const loaded *l, bool in_graph) {
    static unsigned char src[BYTES], dst[BYTES];
    const CUdeviceptr made = strcmp(l->p.op, "transpose_in_place") == 0 ? work : out;
    int wrong = 0;
    CUgraph graph;
    CUgraphExec exec;
    if (in_graph) {
        CU_OK(graphs.begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        launch(writer, work, fresh);
        launch(l, made, work);
        CU_OK(graphs.end_capture(stream, &graph));
        CU_OK(graphs.instantiate(&exec, graph, 0));
    }
    for (int n = 0; n < (device_is_host() ? 2 : TIMES); n++) {
        for (uint32_t i = 0; i < BYTES; i++)
            src[i] = (unsigned char)((i + (uint32_t)n * BYTES) * 2654435761u >> 13);
        CU_OK(device_put(fresh, src, BYTES));
        if (in_graph) {
            CU_OK(graphs.launch(exec, stream));
        } else {
            launch(writer, work, fresh);
            launch(l, made, work);
        }
        CU_OK(cu->cuStreamSynchronize(stream));
        CU_OK(cu->cuMemcpyDtoH(dst, made, BYTES));
        wrong += !is_right(&l->p, dst, src);
    }
    if (in_graph) {
        CU_OK(graphs.destroy_exec(exec));
        CU_OK(graphs.destroy(graph));
    }
    return wrong;
}

static bool is_of_matrices(const tt__template *t) {
    static const char *const ops[] = {"copy", "transpose", "transpose_in_place"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(t->op, ops[i]) == 0)
            return true;
    return false; /* test_nvrtc looks for its wait in the code */
}

/* There is no such kernel before 9.0, which launches none early. */
static bool is_large(const tt__template *t) {
    return strcmp(t->kernel, "transpose_large") == 0;
}

static void test_each_waits(void **state) {
    (void)state;
    loaded writer, l;
    tt__template *t;
    tt__template_set set;
    int n_early = 0;
    OK(tt__template_parse(&t, "late_writer.cu", late_writer));
    load_writer(&writer, t);
    OK(tt__template_set_open(&set, NULL, 0));
    for (size_t i = 0; i < set.n; i++) {
        if (!is_of_matrices(set.items[i]) || !set.items[i]->passes[0].early ||
            (gpu.cc < 90 && is_large(set.items[i])))
            continue;
        load(&l, set.items[i]);
        assert_int_equal(l.c.launch.passes[0].early, gpu.cc >= 90);
        for (int in_graph = 0; in_graph < 2; in_graph++)
            if (count_wrong(&writer, &l, in_graph))
                fail_msg("%s does not wait", set.items[i]->kernel);
        tt__kernel_unload(&l.kernel, cu);
        n_early++;
    }
    assert_true(n_early >= 9);
    tt__kernel_unload(&writer.kernel, cu);
    tt__template_set_close(&set);
    tt__template_free(&t);
}

/* Without this, the test above would prove nothing. */
static void test_who_does_not_wait_is_found_out(void **state) {
    (void)state;
    loaded writer, l;
    tt__template *t, *u;
    if (device_is_host() || gpu.cc < 90 || !cu->launches_early)
        skip();
    OK(tt__template_parse(&t, "late_writer.cu", late_writer));
    OK(tt__template_parse(&u, "liar.cu", liar));
    load_writer(&writer, t);
    load(&l, u);
    for (int in_graph = 0; in_graph < 2; in_graph++)
        assert_true(count_wrong(&writer, &l, in_graph) > 0);
    tt__kernel_unload(&writer.kernel, cu);
    tt__kernel_unload(&l.kernel, cu);
    tt__template_free(&t);
    tt__template_free(&u);
}

static struct { int early, usual; } launched;

static CUresult CUDAAPI take_early(const CUlaunchConfig *config, CUfunction fn, void **args, void **extra) {
    (void)fn, (void)args, (void)extra;
    assert_int_equal(config->numAttrs, 1);
    assert_int_equal(config->attrs->id, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
    assert_int_equal(config->attrs->value.programmaticStreamSerializationAllowed, 1);
    const unsigned all[] = {config->gridDimX,  config->gridDimY,  config->gridDimZ,      config->blockDimX,
                            config->blockDimY, config->blockDimZ, config->sharedMemBytes};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        assert_int_equal(all[i], i + 1);
    assert_ptr_equal(config->hStream, stream);
    launched.early++;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI take_usual(CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                   unsigned by, unsigned bz, unsigned shared_bytes, CUstream s, void **args,
                                   void **extra) {
    (void)fn, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared_bytes, (void)s;
    (void)args, (void)extra;
    launched.usual++;
    return CUDA_SUCCESS;
}

/* Each kernel of a launch for itself, and all as usual where the driver is older than captures that take it.
 */
static void test_who_is_launched_early(void **state) {
    (void)state;
    int version;
    CU_OK(cu->cuDriverGetVersion(&version));
    assert_int_equal(cu->launches_early, version >= 12030);

    tt__driver fake = *cu;
    tt__launch two = {.n_passes = 2};
    const tt__kernel kernel = {.n_passes = 2};
    two.passes[0] = (tt__pass){.grid = {1, 2, 3}, .block = {4, 5, 6}, .shared_bytes = 7};
    two.passes[1] = two.passes[0];
    two.passes[1].early = true;
    fake.cuLaunchKernel = take_usual;
    fake.cuLaunchKernelEx = take_early;
    fake.launches_early = true;
    CU_OK(tt__kernel_launch(&kernel, &fake, &two, NULL, stream));
    assert_int_equal(launched.early, 1);
    assert_int_equal(launched.usual, 1);
    fake.launches_early = false;
    CU_OK(tt__kernel_launch(&kernel, &fake, &two, NULL, stream));
    assert_int_equal(launched.early, 1);
    assert_int_equal(launched.usual, 3);
}

static void test_who_wants_none(void **state) {
    (void)state;
    for (int no = 0; no < 2; no++) {
        tt_ctx *ctx;
        tt_plan *plan;
        tt_open_opts opts = TT_INIT(tt_open_opts);
        tt_problem p = TT_INIT(tt_problem);
        opts.db_path = ":memory:";
        opts.no_early_launch = no;
        p.rows = p.cols = SIDE;
        OK(tt_open(&ctx, &opts));
        OK(tt_plan_create(&plan, ctx, &p));
        assert_int_equal(plan->launch.passes[0].early, gpu.cc >= 90 && !no);
        tt_plan_free(&plan);
        tt_close(&ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_launched_early), cmocka_unit_test(test_each_waits),
        cmocka_unit_test(test_who_wants_none), cmocka_unit_test(test_who_does_not_wait_is_found_out)};
    if (!device_open())
        return device_missing();
    return cmocka_run_group_tests(tests, setup, teardown);
}
