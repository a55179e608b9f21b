/*
 * Launches: allocations, graph capture, contexts that come and go, several devices, many threads. Results are
 * checked elsewhere, too; here every launch really runs.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "device.h"

enum { ROWS = 48, COLS = 80, BYTES = ROWS * COLS * 4 };

static CUcontext primary;
static unsigned char src[BYTES], dst[BYTES];

static CUresult (*ctx_create)(CUcontext *out, unsigned flags, CUdevice device);
static CUresult (*ctx_destroy)(CUcontext context);
static device_graphs graphs;

static int setup(void **state) {
    device_symbol(&ctx_create, "cuCtxCreate_v2");
    device_symbol(&ctx_destroy, "cuCtxDestroy_v2");
    device_graphs_open(&graphs);
    for (size_t i = 0; i < BYTES; i++)
        src[i] = (unsigned char)(i * 2654435761u >> 13);
    CU_OK(cu->cuCtxGetCurrent(&primary));
    return device_enter(state);
}

static tt_problem problem_of(int64_t rows, int64_t cols) {
    tt_problem p = TT_INIT(tt_problem);
    p.rows = rows;
    p.cols = cols;
    return p;
}

typedef struct arrays {
    CUdeviceptr src, dst;
} arrays;

static arrays make(void) {
    arrays a;
    CU_OK(cu->cuMemAlloc(&a.src, BYTES));
    CU_OK(cu->cuMemAlloc(&a.dst, BYTES));
    CU_OK(device_put(a.src, src, BYTES));
    memset(dst, 0, BYTES);
    CU_OK(device_put(a.dst, dst, BYTES));
    return a;
}

static bool is_done(const arrays *a, int64_t rows, int64_t cols) {
    CU_OK(cu->cuCtxSynchronize());
    CU_OK(cu->cuMemcpyDtoH(dst, a->dst, BYTES));
    return transposed(dst, src, rows, cols, cols, rows, 4);
}

static void drop(const arrays *a) {
    CU_OK(cu->cuMemFree(a->src));
    CU_OK(cu->cuMemFree(a->dst));
}

static void test_no_allocation(void **state) {
    (void)state;
    tt_plan *plan;
    arrays a = make();
    tt_problem p = problem_of(ROWS, COLS);
    OK(tt_plan_create(&plan, device_ctx, &p));
    OK(tt_plan_launch(plan, a.dst, a.src, NULL));
    OK(tt_transpose(device_ctx, &p, a.dst, a.src, NULL));
    long before = alloc_count();
    for (int i = 0; i < 100; i++) {
        OK(tt_plan_launch(plan, a.dst, a.src, NULL));
        OK(tt_transpose(device_ctx, &p, a.dst, a.src, NULL));
    }
    assert_int_equal(alloc_count() - before, 0);
    assert_true(before > 0);
    assert_true(is_done(&a, ROWS, COLS));
    tt_plan_free(&plan);
    drop(&a);
}

/* However a problem is written, it is one plan; another alignment, of the addresses or as it is written, is
 * another. */
static void test_one_plan_a_problem(void **state) {
    (void)state;
    enum { A_KEY = 1 }; /* allocations; a plan has more */
    arrays a = make();
    tt_problem p = problem_of(8, 16);
    OK(tt_transpose(device_ctx, &p, a.dst, a.src, NULL));
    const long before = alloc_live();
    long live = before;
    p.elem_size = 4;
    p.lds = 16;
    p.batch = 1;
    OK(tt_transpose(device_ctx, &p, a.dst, a.src, NULL));
    p.ldd = 8;
    p.align = 16;
    OK(tt_transpose(device_ctx, &p, a.dst, a.src, NULL));
    assert_int_equal(alloc_live(), live + 2 * A_KEY);
    p.align = 4;
    OK(tt_transpose(device_ctx, &p, a.dst, a.src, NULL));
    live = alloc_live();
    assert_true(live > before + 2 * A_KEY + A_KEY);
    p.align = 16;
    OK(tt_transpose(device_ctx, &p, a.dst + 4, a.src, NULL));
    OK(tt_transpose(device_ctx, &p, a.dst, a.src + 4, NULL));
    assert_int_equal(alloc_live(), live + A_KEY);
    drop(&a);
}

/* A graph of two launches runs them again on whatever the arrays hold then. */
static void test_capture(void **state) {
    (void)state;
    tt_plan *plan;
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    arrays a = make(), b = make();
    tt_problem p = problem_of(ROWS, COLS);
    CU_OK(cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(tt_plan_create(&plan, device_ctx, &p));
    OK(tt_transpose(device_ctx, &p, b.dst, b.src, stream));
    CU_OK(cu->cuStreamSynchronize(stream));
    memset(dst, 0, BYTES);
    CU_OK(device_put(b.dst, dst, BYTES));
    CU_OK(graphs.begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(tt_plan_launch(plan, a.dst, a.src, stream));
    OK(tt_transpose(device_ctx, &p, b.dst, b.src, stream));
    CU_OK(graphs.end_capture(stream, &graph));
    CU_OK(graphs.instantiate(&exec, graph, 0));
    assert_false(is_done(&a, ROWS, COLS));
    CU_OK(graphs.launch(exec, stream));
    assert_true(is_done(&a, ROWS, COLS));
    assert_true(is_done(&b, ROWS, COLS));
    CU_OK(graphs.destroy_exec(exec));
    CU_OK(graphs.destroy(graph));
    CU_OK(cu->cuStreamDestroy(stream));
    tt_plan_free(&plan);
    drop(&a);
    drop(&b);
}

/* A missing plan is refused, and plans made elsewhere do not disturb the capture. */
static void test_nothing_is_made_in_a_capture(void **state) {
    (void)state;
    static const CUstreamCaptureMode modes[] = {
        CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED};
    CUstream stream, blocking;
    arrays a = make();
    CU_OK(cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU_OK(cu->cuStreamCreate(&blocking, 0));
    for (int i = 0; i < 3; i++) {
        CUgraph graph;
        tt_plan *plan;
        tt_problem p = problem_of(20 + i, 30);
        CU_OK(graphs.begin_capture(stream, modes[i]));
        assert_int_equal(tt_transpose(device_ctx, &p, a.dst, a.src, stream), TT_E_CAPTURE);
        assert_non_null(strstr(tt_last_error(), "before the capture"));
        OK(tt_plan_create(&plan, device_ctx, &p)); /* this one is asked for, and harms nothing */
        OK(tt_plan_launch(plan, a.dst, a.src, stream));
        CU_OK(graphs.end_capture(stream, &graph));
        CU_OK(graphs.destroy(graph));
        OK(tt_transpose(device_ctx, &p, a.dst, a.src, stream));
        CU_OK(cu->cuStreamSynchronize(stream));
        assert_true(is_done(&a, 20 + i, 30));
        tt_plan_free(&plan);

        /* The default stream would wait for a blocking stream that is captured. */
        p = problem_of(20 + i, 31);
        CU_OK(graphs.begin_capture(blocking, modes[i]));
        assert_int_equal(tt_transpose(device_ctx, &p, a.dst, a.src, NULL), TT_E_CAPTURE);
        CU_OK(graphs.end_capture(blocking, &graph));
        CU_OK(graphs.destroy(graph));
    }
    CU_OK(cu->cuStreamDestroy(stream));
    CU_OK(cu->cuStreamDestroy(blocking));
    drop(&a);
}

/* The context of a plan is destroyed and the next one may have its address: no plan of the old one is met. */
static void test_contexts_come_and_go(void **state) {
    (void)state;
    tt_plan *plan = NULL;
    tt_problem p = problem_of(ROWS, COLS);
    for (int i = 0; i < 4; i++) {
        CUcontext context;
        CU_OK(ctx_create(&context, 0, 0));
        arrays a = make();
        OK(tt_transpose(device_ctx, &p, a.dst, a.src, NULL));
        assert_true(is_done(&a, ROWS, COLS));
        tt_plan_free(&plan); /* of the context before, which is gone */
        OK(tt_plan_create(&plan, device_ctx, &p));
        OK(tt_plan_launch(plan, a.dst, a.src, NULL));
        assert_true(is_done(&a, ROWS, COLS));
        CU_OK(ctx_destroy(context));
    }
    CU_OK(cu->cuCtxSetCurrent(NULL));
    tt_plan_free(&plan);
    CU_OK(cu->cuCtxSetCurrent(primary));
}

static void test_several_devices(void **state) {
    (void)state;
    int n;
    CU_OK(cu->cuDeviceGetCount(&n));
    tt_problem p = problem_of(ROWS, COLS);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < n; i++) {
            CUdevice device;
            CUcontext context;
            CU_OK(cu->cuDeviceGet(&device, i));
            CU_OK(cu->cuDevicePrimaryCtxRetain(&context, device));
            CU_OK(cu->cuCtxSetCurrent(context));
            arrays a = make();
            OK(tt_transpose(device_ctx, &p, a.dst, a.src, NULL));
            assert_true(is_done(&a, ROWS, COLS));
            drop(&a);
            CU_OK(cu->cuDevicePrimaryCtxRelease(device));
        }
    CU_OK(cu->cuCtxSetCurrent(primary));
}

/* ---- Threads ------------------------------------------------------------------------------------------- */

enum { THREADS = 16, CALLS = 60, PROBLEMS = 24 };

/* Threads end with false; tt_last_error says which call of CUDA has failed. */
#define DONE(call) (tt__cu_check((call), "%s", #call) == TT_OK)

static void *hammer(void *arg) {
    const uintptr_t me = (uintptr_t)arg;
    CUdeviceptr from, to;
    CUstream stream;
    bool ok = DONE(cu->cuCtxSetCurrent(primary)) && DONE(cu->cuMemAlloc(&from, BYTES)) &&
              DONE(cu->cuMemAlloc(&to, BYTES)) && DONE(cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (uintptr_t i = 0; i < CALLS && ok; i++) {
        tt_problem p = problem_of(9 + (int64_t)((me + i) % PROBLEMS), 40);
        tt_choice choice = TT_INIT(tt_choice);
        tt_plan *plan = NULL;
        ok = tt_transpose(device_ctx, &p, to, from, stream) == TT_OK;
        if (i % 8 == me % 8)
            ok = ok && tt_best(&choice, device_ctx, &p) == TT_OK;
        if (i == me)
            ok = ok && tt_plan_create(&plan, device_ctx, &p) == TT_OK &&
                 tt_plan_launch(plan, to, from, stream) == TT_OK;
        tt_plan_free(&plan);
    }
    ok = ok && DONE(cu->cuStreamSynchronize(stream)) && DONE(cu->cuStreamDestroy(stream)) &&
         DONE(cu->cuMemFree(from)) && DONE(cu->cuMemFree(to));
    if (!ok)
        fprintf(stderr, "thread %d: %s\n", (int)me, tt_last_error());
    return ok ? &primary : NULL;
}

static void test_many_threads(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, (void *)i), 0);
    device_join(threads, THREADS);
}

/* A plan of the thread's own, in a graph of its own. */
static bool launch_in_graph(const tt_problem *p, CUdeviceptr to, CUdeviceptr from, CUstream stream) {
    tt_plan *plan = NULL;
    CUgraph graph;
    CUgraphExec exec;
    bool ok = tt_plan_create(&plan, device_ctx, p) == TT_OK &&
              DONE(graphs.begin_capture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)) &&
              tt_plan_launch(plan, to, from, stream) == TT_OK && DONE(graphs.end_capture(stream, &graph)) &&
              DONE(graphs.instantiate(&exec, graph, 0)) && DONE(graphs.launch(exec, stream)) &&
              DONE(cu->cuStreamSynchronize(stream)) && DONE(graphs.destroy_exec(exec)) &&
              DONE(graphs.destroy(graph));
    tt_plan_free(&plan);
    return ok;
}

/* On a device of its own, in the context that all threads share: what comes out is right each time. Nobody
 * may wait for a context in which another thread captures. */
static void *transpose_on(void *arg) {
    CUdevice device;
    CUcontext context;
    CUdeviceptr from, to;
    CUstream stream;
    unsigned char out[BYTES];
    bool ok = DONE(cu->cuDeviceGet(&device, (int)(uintptr_t)arg)) &&
              DONE(cu->cuDevicePrimaryCtxRetain(&context, device)) && DONE(cu->cuCtxSetCurrent(context)) &&
              DONE(cu->cuMemAlloc(&from, BYTES)) && DONE(cu->cuMemAlloc(&to, BYTES)) &&
              DONE(cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)) &&
              DONE(cu->cuMemcpyHtoD(from, src, BYTES)) &&
              DONE(cu->cuStreamSynchronize(NULL)); /* the thread's stream does not wait for it */
    for (int i = 0; i < CALLS && ok; i++) {
        tt_problem p = problem_of(7 + i % PROBLEMS, 44);
        ok = (i % 4 ? tt_transpose(device_ctx, &p, to, from, stream) == TT_OK
                    : launch_in_graph(&p, to, from, stream)) &&
             DONE(cu->cuStreamSynchronize(stream)) && DONE(cu->cuMemcpyDtoH(out, to, BYTES)) &&
             transposed(out, src, p.rows, 44, 44, p.rows, 4);
    }
    ok = ok && DONE(cu->cuStreamDestroy(stream)) && DONE(cu->cuMemFree(from)) && DONE(cu->cuMemFree(to)) &&
         DONE(cu->cuDevicePrimaryCtxRelease(device));
    if (!ok)
        fprintf(stderr, "device %d: %s\n", (int)(uintptr_t)arg, tt_last_error());
    return ok ? &primary : NULL;
}

static void test_devices_at_once(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    int n;
    CU_OK(cu->cuDeviceGetCount(&n));
    print_message("%d devices\n", n);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, transpose_on, (void *)(uintptr_t)(i % n)), 0);
    device_join(threads, THREADS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_allocation),
        cmocka_unit_test(test_one_plan_a_problem),
        cmocka_unit_test(test_capture),
        cmocka_unit_test(test_nothing_is_made_in_a_capture),
        cmocka_unit_test(test_contexts_come_and_go),
        cmocka_unit_test(test_several_devices),
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_devices_at_once),
    };
    setenv("HOSTCUDA_DEVICES", "2", 0); /* a GPU has what it has */
    return device_open() ? cmocka_run_group_tests(tests, setup, device_leave) : device_missing();
}
