/*
 * A program whose shapes change all the time: memory, loaded code and the store stay bounded, plans that are
 * in use or captured are not affected, and memory that is short costs other plans.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc.h"
#include "base/clock.h"
#include "device.h"
#include "dispatch/context.h"

enum { ROWS = 5, COLS = 7, ELEMENTS = 1 << 14, BYTES = 4 * ELEMENTS, KEPT = 256, MIB = 1 << 20 };

/* Sanitizers keep what was freed, and are slow. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif
#else
static const bool sanitized = false;
#endif

static CUcontext primary;
static unsigned char src[BYTES];
static char store[] = "/tmp/tiletune-shapes-XXXXXX";

static int setup(void **state) {
    (void)state;
    CU_OK(cu->cuCtxGetCurrent(&primary));
    for (size_t i = 0; i < BYTES; i++)
        src[i] = (unsigned char)(i * 2654435761u >> 13);
    return mkdtemp(store) ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", store);
    return system(command);
}

static tt_ctx *open_ctx(int plans_kept, const char *path) {
    tt_open_opts opts = TT_INIT(tt_open_opts);
    tt_ctx *ctx;
    opts.db_path = path;
    opts.plans_kept = plans_kept;
    OK(tt_open(&ctx, &opts));
    return ctx;
}

/* The i-th shape: a small matrix with gaps, so that the kernels take no time. */
static tt_problem shape(int i) {
    tt_problem p = matrix_of(1 + i % ROWS, 1 + i / ROWS % COLS, 0, 0, 4);
    p.lds = COLS + i / ROWS / COLS % 60;
    p.ldd = ROWS + i / ROWS / COLS / 60;
    return p;
}

static void buffers(CUdeviceptr *from, CUdeviceptr *to) {
    CU_OK(cu->cuMemAlloc(from, BYTES));
    CU_OK(cu->cuMemAlloc(to, BYTES));
    CU_OK(device_put(*from, src, BYTES));
}

static void drop(CUdeviceptr from, CUdeviceptr to) {
    CU_OK(cu->cuMemFree(from));
    CU_OK(cu->cuMemFree(to));
}

static bool is_right(const tt_problem *p, CUdeviceptr to) {
    static unsigned char out[BYTES];
    CU_OK(cu->cuCtxSynchronize());
    CU_OK(cu->cuMemcpyDtoH(out, to, BYTES));
    return transposed(out, src, p->rows, p->cols, p->lds, p->ldd, p->elem_size);
}

static long resident_bytes(void) {
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld %ld", &pages, &resident), 2);
    fclose(f);
    return resident * sysconf(_SC_PAGESIZE);
}

static long file_bytes(const char *path) {
    struct stat s;
    char log[80];
    snprintf(log, sizeof log, "%s-wal", path);
    const long wal = stat(log, &s) == 0 ? (long)s.st_size : 0;
    assert_int_equal(stat(path, &s), 0);
    return (long)s.st_size + wal;
}

static void test_any_number_of_shapes(void **state) {
    (void)state;
    const int n = sanitized                ? 600
                  : device_may_take_long() ? 100000
                                           : 6000,
              first = n / 2; /* by then all kinds of code are there */
    CUdeviceptr from, to;
    char path[64];
    long resident = 0, objects = 0, stored = 0;
    snprintf(path, sizeof path, "%s/store.db", store);
    tt_ctx *ctx = open_ctx(0, path);
    buffers(&from, &to);
    for (int i = 0; i < n; i++) {
        const tt_problem p = shape(i);
        OK(tt_transpose(ctx, &p, to, from, NULL));
        if (i % 997 == 0)
            assert_true(is_right(&p, to));
        if (i != first)
            continue;
        resident = resident_bytes();
        objects = device_objects();
        stored = file_bytes(path);
    }
    print_message(
        "%d shapes: %ld bytes of memory, %ld objects and %ld bytes of the store more than after %d\n", n,
        resident_bytes() - resident, device_objects() - objects, file_bytes(path) - stored, first);
    assert_true(sanitized || resident_bytes() - resident < 32 * MIB);
    assert_true(device_objects() - objects <= 2);
    assert_true(file_bytes(path) == stored);
    drop(from, to);
    tt_close(&ctx);
}

/* Permutations get sizes as arguments, so there is a library for each kind of tile, however many shapes. */
static void test_any_number_of_permutations(void **state) {
    (void)state;
    const int n = sanitized ? 600 : device_may_take_long() ? 20000 : 1500, kinds = 24;
    static const int perm[] = {2, 0, 3, 1};
    CUdeviceptr from, to;
    tt_ctx *ctx = open_ctx(KEPT, ":memory:");
    buffers(&from, &to);
    const long before = device_objects();
    for (int i = 0; i < n; i++) {
        const int64_t dims[] = {2 + i % 3, 2 + i / 3 % 4, 2 + i / 12 % 5, 2 + i / 60},
                      strides[] = {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
        tt_permutation p = TT_INIT(tt_permutation);
        if (dims[0] * strides[0] > ELEMENTS)
            continue;
        p.rank = 4;
        p.dims = dims;
        p.perm = perm;
        OK(tt_permute(ctx, &p, to, from, NULL));
    }
    CU_OK(cu->cuCtxSynchronize());
    print_message("%ld libraries for %d permutations\n", device_objects() - before, n);
    assert_true(device_objects() - before <= kinds);
    drop(from, to);
    tt_close(&ctx);
}

/* ---- Threads ------------------------------------------------------------------------------------------- */

enum { THREADS = 16, ASKING = 4, CALLS = 300 };

static tt_ctx *shared;
static _Atomic int asked;

/* One shape again and again, or new ones all the time. */
static void *call(void *arg) {
    const int me = (int)(uintptr_t)arg;
    CUdeviceptr from, to;
    CUstream stream;
    bool ok = cu->cuCtxSetCurrent(primary) == CUDA_SUCCESS && cu->cuMemAlloc(&from, BYTES) == CUDA_SUCCESS &&
              cu->cuMemAlloc(&to, BYTES) == CUDA_SUCCESS &&
              cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS;
    for (int i = 0; i < CALLS && ok; i++) {
        const tt_problem p = shape(me < ASKING ? asked++ : 3);
        ok = tt_transpose(shared, &p, to, from, stream) == TT_OK;
    }
    if (!ok)
        fprintf(stderr, "thread %d: %s\n", me, tt_last_error());
    ok = ok && cu->cuStreamSynchronize(stream) == CUDA_SUCCESS &&
         cu->cuStreamDestroy(stream) == CUDA_SUCCESS && cu->cuMemFree(from) == CUDA_SUCCESS &&
         cu->cuMemFree(to) == CUDA_SUCCESS;
    return ok ? &primary : NULL;
}

static void test_threads_while_plans_are_given_up(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    for (int kept = 1; kept <= 8; kept *= 8) {
        shared = open_ctx(kept, ":memory:");
        for (uintptr_t i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, call, (void *)i), 0);
        device_join(threads, THREADS);
        tt_close(&shared);
    }
}

/* ---- Compiling ----------------------------------------------------------------------------------------- */

static atomic_int compiled;

static void *ask_for_a_compile(void *arg) {
    CUdeviceptr *arrays = arg;
    const tt_problem p = {.size = sizeof p, .rows = ROWS, .cols = COLS, .elem_size = 16};
    const bool ok = cu->cuCtxSetCurrent(primary) == CUDA_SUCCESS &&
                    tt_transpose(shared, &p, arrays[1], arrays[0], NULL) == TT_OK;
    compiled++;
    return ok ? &primary : NULL;
}

/* One thread compiles, one waits for the same, and others get what needs no compiler meanwhile. */
static void test_another_shape_does_not_wait_for_a_compile(void **state) {
    (void)state;
    pthread_t threads[2];
    CUdeviceptr arrays[2], from, to;
    const tt_problem first = shape(34), second = shape(34 + 4 * ROWS * COLS);
    bool starts = false;
    if (!device_is_host())
        skip(); /* may have it all */
    shared = open_ctx(0, ":memory:");
    buffers(&from, &to);
    buffers(&arrays[0], &arrays[1]);
    OK(tt_transpose(shared, &first, to, from, NULL));
    const long before = device_objects();
    setenv("HOSTCUDA_FAULTS", ":compile_slow=1000", 1);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_for_a_compile, arrays), 0);
    while (!starts) {
        usleep(1000);
        pthread_mutex_lock(&shared->making);
        starts = shared->makers || compiled;
        pthread_mutex_unlock(&shared->making);
    }
    OK(tt_transpose(shared, &second, to, from, NULL));
    assert_int_equal(compiled, 0);
    device_join(threads, 2);
    unsetenv("HOSTCUDA_FAULTS");
    CU_OK(cu->cuCtxSynchronize());
    assert_int_equal(device_objects(), before + 1);
    drop(from, to);
    drop(arrays[0], arrays[1]);
    tt_close(&shared);
}

/* Threads that ask for other shapes at once. The kernel is the same. */
static void *ask_for_the_same_code(void *arg) {
    CUdeviceptr from, to;
    const tt_problem p = {
        .size = sizeof p, .rows = ROWS + (int)(uintptr_t)arg, .cols = COLS, .elem_size = 16};
    const bool ok =
        cu->cuCtxSetCurrent(primary) == CUDA_SUCCESS && cu->cuMemAlloc(&from, BYTES) == CUDA_SUCCESS &&
        cu->cuMemAlloc(&to, BYTES) == CUDA_SUCCESS && tt_transpose(shared, &p, to, from, NULL) == TT_OK &&
        cu->cuMemFree(from) == CUDA_SUCCESS && cu->cuMemFree(to) == CUDA_SUCCESS;
    return ok ? &primary : NULL;
}

static void test_threads_compile_once(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    if (!device_is_host())
        skip(); /* may have it all */
    shared = open_ctx(0, ":memory:");
    const long before = device_objects();
    setenv("HOSTCUDA_FAULTS", ":compile_slow=200", 1);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_for_the_same_code, (void *)i), 0);
    device_join(threads, THREADS);
    unsetenv("HOSTCUDA_FAULTS");
    assert_int_equal(device_objects(), before + 1);
    tt_close(&shared);
}

static int ask_once_and_stop(void *user) {
    void **answer = user;
    if (!*answer)
        *answer = ask_for_the_same_code(NULL);
    return 1;
}

/* tt_tune holds the locks of a store in memory, and its call-back asks for what another thread compiles. */
static void test_a_call_back_asks_for_what_is_being_compiled(void **state) {
    (void)state;
    pthread_t thread;
    void *answer = NULL;
    tt_report *report = NULL;
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    const tt_problem p = shape(34);
    bool starts = false;
    if (!device_is_host())
        skip(); /* may have it all */
    opts.should_stop = ask_once_and_stop;
    opts.user = &answer;
    shared = open_ctx(0, ":memory:");
    setenv("HOSTCUDA_FAULTS", ":compile_slow=300", 1);
    assert_int_equal(pthread_create(&thread, NULL, ask_for_the_same_code, NULL), 0);
    while (!starts) {
        usleep(1000);
        pthread_mutex_lock(&shared->making);
        starts = shared->makers;
        pthread_mutex_unlock(&shared->making);
    }
    alarm(60); /* it waited for ever */
    tt_tune(&report, shared, &p, 1, &opts);
    alarm(0);
    assert_ptr_equal(answer, &primary);
    device_join(&thread, 1);
    unsetenv("HOSTCUDA_FAULTS");
    tt_report_free(&report);
    tt_close(&shared);
}

/* Those that wait for code that cannot be compiled do not try one after the other. */
static void *ask_for_bad_code(void *arg) {
    (void)arg;
    tt_plan *plan;
    const tt_problem p = matrix_of(ROWS, COLS, 0, 0, 16);
    return cu->cuCtxSetCurrent(primary) == CUDA_SUCCESS && tt_plan_create(&plan, shared, &p) == TT_E_COMPILE
               ? &primary
               : NULL;
}

static void test_threads_fail_together(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    double took_s[2];
    if (!device_is_host())
        skip(); /* may have it all */
    shared = open_ctx(0, ":memory:");
    setenv("HOSTCUDA_FAULTS", ":compile_slow=300;:compile_error", 1);
    for (int k = 0; k < 2; k++) {
        const int n = k ? THREADS : 1;
        const double began_s = tt__now_s();
        for (int i = 0; i < n; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, ask_for_bad_code, NULL), 0);
        device_join(threads, n);
        took_s[k] = tt__now_s() - began_s;
    }
    unsetenv("HOSTCUDA_FAULTS");
    assert_true(took_s[1] < 6 * took_s[0]);
    tt_close(&shared);
}

static atomic_bool enough;

static void *ask_again_and_again(void *arg) {
    const int me = (int)(uintptr_t)arg;
    if (cu->cuCtxSetCurrent(primary) != CUDA_SUCCESS)
        return NULL;
    for (int i = 0; !enough; i++) {
        const tt_problem p = matrix_of(ROWS + me, COLS + i % 9, 0, 0, 16);
        if (tt_transpose(shared, &p, BYTES, 2 * BYTES, NULL) != TT_E_COMPILE)
            return NULL;
    }
    return &primary;
}

static void *end_it(void *arg) {
    (void)arg;
    for (int i = 0; i < 2000 && !enough; i++)
        usleep(10000);
    if (enough)
        return &primary;
    enough = true;
    return NULL;
}

/* There is always a plan that is being made. */
static void test_tuning_begins_while_others_ask(void **state) {
    (void)state;
    pthread_t threads[5];
    tt_report *report = NULL;
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    const tt_problem p = shape(34);
    if (!device_is_host())
        skip(); /* may have it all */
    opts.budget_s = 1;
    shared = open_ctx(0, ":memory:");
    setenv("HOSTCUDA_FAULTS", "ELEM_SIZE=16:compile_slow=100;ELEM_SIZE=16:compile_error", 1);
    enough = false;
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_again_and_again, (void *)i), 0);
    assert_int_equal(pthread_create(&threads[4], NULL, end_it, NULL), 0);
    usleep(100000);
    tt_tune(&report, shared, &p, 1, &opts);
    enough = true;
    device_join(threads, 5); /* the last one fails if it had to end it */
    unsetenv("HOSTCUDA_FAULTS");
    tt_report_free(&report);
    tt_close(&shared);
}

/* ---- What is held -------------------------------------------------------------------------------------- */

/* A captured launch and a plan of the caller work after all cached plans have been given up. */
static void test_graphs_and_plans_are_not_affected(void **state) {
    (void)state;
    device_graphs graphs;
    CUdeviceptr from, to;
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    tt_plan *plan;
    const tt_problem p = shape(34);
    tt_problem wide = shape(34); /* other sizes of elements have other code */
    tt_ctx *ctx = open_ctx(2, ":memory:");
    wide.elem_size = 8;
    device_graphs_open(&graphs);
    buffers(&from, &to);
    CU_OK(cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(tt_plan_create(&plan, ctx, &wide));
    OK(tt_transpose(ctx, &p, to, from, stream));
    CU_OK(cu->cuStreamSynchronize(stream));
    CU_OK(graphs.begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(tt_transpose(ctx, &p, to, from, stream));
    CU_OK(graphs.end_capture(stream, &graph));
    CU_OK(graphs.instantiate(&exec, graph, 0));
    for (int i = 0; i < 30; i++) {
        tt_problem other = shape(i);
        other.elem_size = 2;
        OK(tt_transpose(ctx, &other, to, from, stream));
    }
    CU_OK(cu->cuStreamSynchronize(stream));
    CU_OK(cu->cuMemsetD8Async(to, 0, BYTES, stream));
    CU_OK(graphs.launch(exec, stream));
    assert_true(is_right(&p, to));
    CU_OK(cu->cuMemsetD8Async(to, 0, BYTES, stream));
    tt_close(&ctx);
    OK(tt_plan_launch(plan, to, from, stream));
    assert_true(is_right(&wide, to));
    tt_plan_free(&plan);
    CU_OK(graphs.destroy_exec(exec));
    CU_OK(graphs.destroy(graph));
    CU_OK(cu->cuStreamDestroy(stream));
    drop(from, to);
}

/* Plans of the caller share code as well, and the last one unloads it. Plans with constants do not. */
static void test_code_is_shared(void **state) {
    (void)state;
    if (!device_is_host())
        skip(); /* cannot count */
    tt_plan *plans[8];
    tt_ctx *ctx = open_ctx(0, ":memory:");
    const long before = device_objects();
    for (int i = 0; i < 8; i++) {
        const tt_problem p = shape(34 + 4 * i * ROWS * COLS);
        OK(tt_plan_create(&plans[i], ctx, &p));
        assert_int_equal(device_objects(), before + 1);
    }
    for (int i = 0; i < 8; i++) {
        assert_int_equal(device_objects(), before + 1);
        if (i == 4)
            tt_close(&ctx);
        tt_plan_free(&plans[i]);
    }
    assert_int_equal(device_objects(), before);
}

/* Wherever memory is short, other plans are given up, and the call works. */
static void test_memory_is_short(void **state) {
    (void)state;
    CUdeviceptr from, to;
    buffers(&from, &to);
    tt_ctx *ctx = open_ctx(KEPT, ":memory:");
    for (int i = 0; i < KEPT; i++) {
        const tt_problem p = shape(i);
        OK(tt_transpose(ctx, &p, to, from, NULL));
    }
    for (long n = 1, more = 1; more; n++) {
        const tt_problem p = shape(KEPT + (int)n);
        const long before = alloc_count();
        alloc_fail(n);
        OK(tt_transpose(ctx, &p, to, from, NULL));
        alloc_fail(0);
        more = alloc_count() - before >= n;
        assert_true(is_right(&p, to));
    }
    tt_close(&ctx);
    drop(from, to);
}

static void test_bad_options(void **state) {
    (void)state;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    tt_ctx *ctx;
    opts.db_path = ":memory:";
    opts.plans_kept = -1;
    assert_int_equal(tt_open(&ctx, &opts), TT_E_INVALID);
    assert_string_equal(tt_last_error(), "plans_kept is -1: it must be from 1 to 1048576, or 0 for 4096");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_number_of_shapes),
        cmocka_unit_test(test_any_number_of_permutations),
        cmocka_unit_test(test_threads_while_plans_are_given_up),
        cmocka_unit_test(test_another_shape_does_not_wait_for_a_compile),
        cmocka_unit_test(test_threads_compile_once),
        cmocka_unit_test(test_a_call_back_asks_for_what_is_being_compiled),
        cmocka_unit_test(test_threads_fail_together),
        cmocka_unit_test(test_tuning_begins_while_others_ask),
        cmocka_unit_test(test_graphs_and_plans_are_not_affected),
        cmocka_unit_test(test_code_is_shared),
        cmocka_unit_test(test_memory_is_short),
        cmocka_unit_test(test_bad_options),
    };
    return device_open() ? cmocka_run_group_tests(tests, setup, teardown) : device_missing();
}
