/* Plans and tt_transpose on a device: every element size, leading dimensions, misaligned bases, several
 * threads, and what the library refuses. Shapes are small; the templates' own sweep is elsewhere. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "device.h"

typedef struct arrays {
    int64_t src_bytes, dst_bytes;
    unsigned char *src, *dst;
    CUdeviceptr d_src, d_dst;
} arrays;

enum { SPARE = 64 };

/* Arrays with device addresses `shift` bytes after a 256-byte boundary. */
static arrays make(const tt_problem *p, unsigned shift) {
    int64_t lds = p->lds ? p->lds : p->cols, ldd = p->ldd ? p->ldd : p->rows;
    arrays a = {.src_bytes = p->rows * lds * p->elem_size, .dst_bytes = p->cols * ldd * p->elem_size};
    a.src = malloc((size_t)a.src_bytes);
    a.dst = malloc((size_t)a.dst_bytes);
    assert_true(a.src && a.dst);
    for (int64_t i = 0; i < a.src_bytes; i++)
        a.src[i] = (unsigned char)((uint64_t)i * 2654435761u >> 13);
    CU_OK(cu->cuMemAlloc(&a.d_src, (size_t)a.src_bytes + SPARE));
    CU_OK(cu->cuMemAlloc(&a.d_dst, (size_t)a.dst_bytes + SPARE));
    a.d_src += shift;
    a.d_dst += shift;
    CU_OK(device_put(a.d_src, a.src, (size_t)a.src_bytes));
    return a;
}

static void check_and_free(arrays *a, const tt_problem *p, unsigned shift) {
    CU_OK(cu->cuCtxSynchronize());
    CU_OK(cu->cuMemcpyDtoH(a->dst, a->d_dst, (size_t)a->dst_bytes));
    assert_true(transposed(a->dst, a->src, p->rows, p->cols, p->lds ? p->lds : p->cols,
                           p->ldd ? p->ldd : p->rows, p->elem_size));
    CU_OK(cu->cuMemFree(a->d_src - shift));
    CU_OK(cu->cuMemFree(a->d_dst - shift));
    free(a->src);
    free(a->dst);
}

static const struct {
    int64_t rows, cols, lds, ldd;
} shapes[] = {{1, 1, 0, 0},     {1, 97, 0, 0},       {97, 1, 0, 0},    {64, 64, 0, 0},    {31, 65, 0, 0},
              {127, 131, 0, 0}, {100, 60, 128, 104}, {33, 47, 50, 41}, {200, 16, 16, 208}};
static const int elem_sizes[] = {1, 2, 4, 8, 16};

static void test_transpose(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t e = 0; e < sizeof elem_sizes / sizeof *elem_sizes; e++) {
            tt_problem p =
                matrix_of(shapes[i].rows, shapes[i].cols, shapes[i].lds, shapes[i].ldd, elem_sizes[e]);
            arrays a = make(&p, 0);
            OK(tt_transpose(device_ctx, &p, a.d_dst, a.d_src, NULL));
            check_and_free(&a, &p, 0);
        }
}

static void test_misaligned_in_place(void **state) {
    (void)state;
    for (size_t e = 0; e < sizeof elem_sizes / sizeof *elem_sizes; e++)
        for (unsigned shift = (unsigned)elem_sizes[e]; shift < 16; shift *= 2) {
            tt_problem p = matrix_of(80, 80, 0, 0, elem_sizes[e]);
            arrays a = make(&p, shift);
            p.in_place = 1;
            CU_OK(device_put(a.d_dst, a.src, (size_t)a.src_bytes));
            OK(tt_transpose(device_ctx, &p, a.d_dst, a.d_dst, NULL));
            check_and_free(&a, &p, shift);
        }
}

static void refused(tt_status status, const char *says) {
    assert_int_equal(status, TT_E_INVALID);
    if (!strstr(tt_last_error(), says))
        fail_msg("said %s, expected %s", tt_last_error(), says);
}

/* Odd, prime, one row, few columns; larger ones go in panels, with a tail and without. */
static void test_rectangles_in_place(void **state) {
    (void)state;
    static const struct {
        int64_t rows, cols;
        int elem_size;
    } rects[] = {{1, 97, 4},     {97, 1, 2},     {2, 3, 1},      {31, 65, 4},    {127, 131, 1}, {97, 101, 16},
                 {64, 48, 2},    {48, 64, 8},    {7919, 3, 4},   {5, 7919, 1},   {6421, 24, 4}, {24, 6421, 4},
                 {25600, 9, 1},  {9, 25600, 1},  {13001, 24, 2}, {24, 13001, 2}, {3204, 30, 8}, {30, 3204, 8},
                 {1700, 34, 16}, {34, 1701, 16}, {4096, 256, 4}, {256, 4100, 4}};
    for (size_t i = 0; i < sizeof rects / sizeof *rects; i++) {
        tt_problem p = matrix_of(rects[i].rows, rects[i].cols, 0, 0, rects[i].elem_size);
        const unsigned shift = i % 2 ? (unsigned)p.elem_size % 16 : 0;
        arrays a = make(&p, shift);
        const size_t needed = (size_t)a.dst_bytes / 100;
        p.in_place = 1;
        CU_OK(device_put(a.d_dst, a.src, (size_t)a.src_bytes));
        assert_int_equal(tt_transpose(device_ctx, &p, a.d_dst, a.d_dst, NULL), TT_E_INVALID);
        assert_non_null(strstr(tt_last_error(), "give their address in tt_problem.scratch"));
        CU_OK(cu->cuMemAlloc(&p.scratch, needed < 16 ? 16 : needed));
        OK(tt_transpose(device_ctx, &p, a.d_dst, a.d_dst, NULL));
        CU_OK(cu->cuMemFree(p.scratch));
        check_and_free(&a, &p, shift);
    }
}

/* Each way to launch asks the same of scratch memory, also where the matrix may lie anywhere. */
static void scratch_is_aligned(CUdeviceptr scratch) {
    static const char says[] = "it must be a device address that is a multiple of 16 bytes";
    tt_plan *plan;
    tt_problem p = matrix_of(6400, 24, 0, 0, 4);
    p.in_place = 1;
    p.align = 4;
    arrays a = make(&p, 4);
    for (unsigned shift = 1; shift < 16; shift *= 2) {
        CUdeviceptr at = p.scratch = scratch + shift;
        refused(tt_transpose(device_ctx, &p, a.d_dst, a.d_dst, NULL), says);
        OK(tt_plan_create(&plan, device_ctx, &p));
        refused(tt_plan_launch(plan, a.d_dst, a.d_dst, NULL), says);
        refused(tt_plan_launch_args(plan, (void *[]){&a.d_dst, &at}, 2, NULL), says);
        tt_plan_free(&plan);
    }
    CU_OK(device_put(a.d_dst, a.src, (size_t)a.src_bytes));
    p.scratch = scratch;
    OK(tt_transpose(device_ctx, &p, a.d_dst, a.d_dst, NULL));
    check_and_free(&a, &p, 4);
}

/* A plan has the memory from the problem, or from the launch. */
static void test_plan_with_scratch(void **state) {
    (void)state;
    tt_plan *plan;
    tt_argument argument = TT_INIT(tt_argument);
    tt_problem p = matrix_of(6400, 24, 0, 0, 4);
    CUdeviceptr scratch;
    p.in_place = 1;
    arrays a = make(&p, 0);
    OK(tt_plan_create(&plan, device_ctx, &p));
    OK(tt_plan_argument(&argument, plan, 1));
    assert_string_equal(argument.direction, "scratch");
    assert_int_equal(argument.bytes, 6400 * 24 * 4 / 100);
    CU_OK(cu->cuMemAlloc(&scratch, argument.bytes + 16));
    assert_int_equal(tt_plan_launch(plan, a.d_dst, a.d_dst, NULL), TT_E_INVALID);
    assert_non_null(strstr(tt_last_error(), "needs 6144 bytes of device memory"));
    assert_int_equal(tt_plan_launch(plan, a.d_dst, a.d_src, NULL), TT_E_INVALID);
    assert_non_null(strstr(tt_last_error(), "in place they must be the same"));
    CU_OK(device_put(a.d_dst, a.src, (size_t)a.src_bytes));
    OK(tt_plan_launch_args(plan, (void *[]){&a.d_dst, &scratch}, 2, NULL));
    check_and_free(&a, &p, 0);
    tt_plan_free(&plan);

    p.scratch = scratch;
    a = make(&p, 0);
    OK(tt_plan_create(&plan, device_ctx, &p));
    CU_OK(device_put(a.d_dst, a.src, (size_t)a.src_bytes));
    OK(tt_plan_launch(plan, a.d_dst, a.d_dst, NULL));
    check_and_free(&a, &p, 0);
    tt_plan_free(&plan);
    scratch_is_aligned(scratch);
    CU_OK(cu->cuMemFree(scratch));
}

/* A kernel that reads such an element would leave the caller's context unusable. */
static void test_elements_off_their_places(void **state) {
    (void)state;
    for (size_t e = 1; e < sizeof elem_sizes / sizeof *elem_sizes; e++)
        for (int in_place = 0; in_place <= 1; in_place++)
            for (int shift = 1; shift < elem_sizes[e]; shift *= 2) {
                tt_problem p = matrix_of(80, 80, 0, 0, elem_sizes[e]);
                arrays a = make(&p, (unsigned)shift);
                p.in_place = in_place;
                assert_int_equal(tt_transpose(device_ctx, &p, a.d_dst, in_place ? a.d_dst : a.d_src, NULL),
                                 TT_E_INVALID);
                assert_non_null(strstr(tt_last_error(), "lie at multiples of"));
                p.in_place = 0;
                OK(tt_transpose(device_ctx, &p, a.d_dst - shift, a.d_src - shift, NULL));
                CU_OK(cu->cuMemcpyDtoH(a.src, a.d_src - shift, (size_t)a.src_bytes));
                a.d_dst -= (unsigned)shift, a.d_src -= (unsigned)shift;
                check_and_free(&a, &p, 0);
            }
}

/* tt_transpose looks at the pointers: bases of every alignment that the element size allows. */
static void test_misaligned_bases(void **state) {
    (void)state;
    for (size_t e = 0; e < sizeof elem_sizes / sizeof *elem_sizes; e++)
        for (unsigned shift = (unsigned)elem_sizes[e]; shift < 16; shift *= 2) {
            tt_problem p = matrix_of(48, 80, 0, 0, elem_sizes[e]);
            arrays a = make(&p, shift);
            OK(tt_transpose(device_ctx, &p, a.d_dst, a.d_src, NULL));
            check_and_free(&a, &p, shift);
            a = make(&p, 0); /* one of the two alone */
            OK(tt_transpose(device_ctx, &p, a.d_dst + shift, a.d_src, NULL));
            OK(tt_transpose(device_ctx, &p, a.d_dst, a.d_src + shift, NULL));
            OK(tt_transpose(device_ctx, &p, a.d_dst, a.d_src, NULL));
            check_and_free(&a, &p, 0);
        }
}

static void test_plan(void **state) {
    (void)state;
    tt_plan *plan;
    tt_problem p = matrix_of(130, 70, 0, 0, 4);
    arrays a = make(&p, 0);
    CUstream stream;
    CU_OK(cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(tt_plan_create(&plan, device_ctx, &p));
    assert_true(tt_plan_choice(plan)->match > TT_MATCH_STALE); /* from what ships with the library */
    OK(tt_plan_launch(plan, a.d_dst, a.d_src, stream));
    CU_OK(cu->cuStreamSynchronize(stream));
    CU_OK(cu->cuStreamDestroy(stream));
    check_and_free(&a, &p, 0);
    tt_plan_free(&plan);
    assert_null(plan);
}

static void test_plan_refuses_misaligned(void **state) {
    (void)state;
    tt_plan *plan;
    tt_problem p = matrix_of(64, 64, 0, 0, 4);
    OK(tt_plan_create(&plan, device_ctx, &p));
    assert_int_equal(tt_plan_launch(plan, 4096 + 4, 8192, NULL), TT_E_INVALID);
    assert_non_null(strstr(tt_last_error(), "0x1004"));
    assert_non_null(strstr(tt_last_error(), "give the problem an `align`"));
    assert_int_equal(tt_plan_launch(plan, 4096, 4096, NULL), TT_E_INVALID);
    assert_non_null(strstr(tt_last_error(), "dst and src are both 0x1000: dst needs memory of its own"));
    refused(tt_plan_launch_args(plan, (void *[]){&(CUdeviceptr){4096}, &(CUdeviceptr){4096}}, 2, NULL),
            "src and dst are both 0x1000");
    tt_plan_free(&plan);
    tt_permutation turn = TT_INIT(tt_permutation);
    turn.rank = 1;
    turn.dims = (int64_t[]){4};
    turn.perm = (int[]){0};
    tt_problem of_tensor = TT_INIT(tt_problem);
    of_tensor.permutation = &turn;
    of_tensor.align = 4;
    refused(tt_plan_create(&plan, device_ctx, &of_tensor),
            "align is 4 in a problem of a permutation: say it in tt_permutation");
    p.in_place = 1;
    OK(tt_plan_create(&plan, device_ctx, &p));
    assert_int_equal(tt_plan_launch(plan, 4096, 8192, NULL), TT_E_INVALID);
    assert_non_null(strstr(tt_last_error(), "dst is 0x1000 and src 0x2000: in place they must be the same"));
    tt_plan_free(&plan);
}

/* A launch with such an address would be an error on the device, and the context unusable. */
static void test_refuses_address_0(void **state) {
    (void)state;
    static const char dst_is_0[] = "dst is 0x0: it must be a device address";
    tt_plan *plan;
    tt_problem p = matrix_of(64, 64, 0, 0, 4);
    OK(tt_plan_create(&plan, device_ctx, &p));
    refused(tt_plan_launch(plan, 0, 8192, NULL), dst_is_0);
    refused(tt_plan_launch(plan, 4096, 0, NULL), "src is 0x0: it must be a device address");
    tt_plan_free(&plan);
    refused(tt_transpose(device_ctx, &p, 0, 8192, NULL), dst_is_0);
    p.in_place = 1;
    OK(tt_plan_create(&plan, device_ctx, &p));
    refused(tt_plan_launch(plan, 0, 0, NULL), dst_is_0);
    tt_plan_free(&plan);
    p = matrix_of(6400, 24, 0, 0, 4);
    p.in_place = 1;
    p.scratch = 4096;
    OK(tt_plan_create(&plan, device_ctx, &p));
    refused(tt_plan_launch(plan, 0, 0, NULL), dst_is_0);
    tt_plan_free(&plan);
    refused(tt_transpose(device_ctx, &p, 0, 0, NULL), dst_is_0);
}

/* A plan outlives the context it came from. */
static void test_plan_outlives_context(void **state) {
    (void)state;
    tt_ctx *other;
    tt_plan *plan;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = ":memory:";
    tt_problem p = matrix_of(40, 50, 0, 0, 4);
    arrays a = make(&p, 0);
    OK(tt_open(&other, &opts));
    OK(tt_plan_create(&plan, other, &p));
    tt_close(&other);
    OK(tt_plan_launch(plan, a.d_dst, a.d_src, NULL));
    check_and_free(&a, &p, 0);
    tt_plan_free(&plan);
}

static tt_plan *inherited;
static tt__driver drivers; /* as they were */
static int ended;          /* as waitpid says */

static CUresult unload_in_child(CUlibrary library) {
    (void)library;
    _exit(2);
}

/* A child of fork that frees its parent's plan. If it hangs, the alarm ends it. */
static void free_in_child(void) {
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(20);
        ((tt__driver *)(uintptr_t)cu)->cuLibraryUnload = unload_in_child;
        tt_plan_free(&inherited);
        _exit(inherited != NULL);
    }
    if (waitpid(pid, &ended, 0) != pid)
        ended = -1;
}

/* The library calls this with the lock of its modules held. */
static CUresult fork_meanwhile(CUfunction *out, CUkernel kernel) {
    free_in_child();
    return drivers.cuKernelGetFunction(out, kernel);
}

/* In a child CUDA cannot be used, and a lock may be held by a thread that the child does not have. */
static void test_freed_in_a_child(void **state) {
    (void)state;
    tt_ctx *other;
    tt_plan *same;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    tt__driver *table = (tt__driver *)(uintptr_t)cu;
    opts.db_path = ":memory:";
    const tt_problem p = matrix_of(40, 50, 0, 0, 4);
    OK(tt_open(&other, &opts));
    OK(tt_plan_create(&inherited, other, &p));
    free_in_child();
    assert_int_equal(ended, 0);
    ended = -1;
    drivers = *table;
    table->cuKernelGetFunction = fork_meanwhile;
    const tt_status status = tt_plan_create(&same, other, &p);
    *table = drivers;
    OK(status);
    assert_int_equal(ended, 0);
    tt_plan_free(&same);
    tt_plan_free(&inherited);
    tt_close(&other);
}

static void *transpose_many(void *arg) {
    CUcontext context = arg;
    tt_problem p = matrix_of(32, 64, 0, 0, 4);
    cu->cuCtxSetCurrent(context);
    CUdeviceptr src, dst;
    bool ok = cu->cuMemAlloc(&src, 16384) == CUDA_SUCCESS && cu->cuMemAlloc(&dst, 16384) == CUDA_SUCCESS;
    for (int i = 0; i < 50 && ok; i++) {
        p.rows = 32 + i % 8;
        p.cols = 64 - i % 4;
        ok = tt_transpose(device_ctx, &p, dst, src, NULL) == TT_OK;
    }
    ok = ok && cu->cuCtxSynchronize() == CUDA_SUCCESS && cu->cuMemFree(src) == CUDA_SUCCESS &&
         cu->cuMemFree(dst) == CUDA_SUCCESS;
    return ok ? arg : NULL;
}

static void test_threads(void **state) {
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    CUcontext context;
    CU_OK(cu->cuCtxGetCurrent(&context));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, transpose_many, context), 0);
    device_join(threads, THREADS);
}

typedef struct visitor {
    tt_ctx *ctx;
    CUcontext context;
    CUdeviceptr dst, src;
    pthread_t thread;
    bool in_thread, launched;
} visitor;

static void launch_new(visitor *v, int64_t rows) {
    const tt_problem p = matrix_of(rows, 64, 0, 0, 4);
    v->launched &= tt_transpose(v->ctx, &p, v->dst, v->src, NULL) == TT_OK;
}

static void *visit(void *user) {
    visitor *v = user;
    cu->cuCtxSetCurrent(v->context);
    launch_new(v, 31);
    return NULL;
}

static void call_back(void *user, const tt_progress *progress) {
    visitor *v = user;
    (void)progress;
    if (v->in_thread)
        return;
    v->in_thread = pthread_create(&v->thread, NULL, visit, v) == 0;
    usleep(200000); /* until the thread waits for the tuning */
    launch_new(v, 32);
}

/* Tuning with a store in memory keeps others from it, but not its own call-backs: neither waits for the
 * other. */
static void test_a_call_back_may_launch(void **state) {
    (void)state;
    visitor v = {.launched = true};
    tt_open_opts opts = TT_INIT(tt_open_opts);
    tt_tune_opts tune = TT_INIT(tt_tune_opts);
    tt_report *report;
    const tt_problem p = matrix_of(4096, 4096, 0, 0, 4);
    opts.db_path = ":memory:";
    tune.replay = TT_SOURCE_DIR "/tests/data/small.json";
    tune.effort = TT_EFFORT_QUICK;
    tune.on_progress = call_back;
    tune.user = &v;
    CU_OK(cu->cuCtxGetCurrent(&v.context));
    CU_OK(cu->cuMemAlloc(&v.src, 16384));
    CU_OK(cu->cuMemAlloc(&v.dst, 16384));
    OK(tt_open(&v.ctx, &opts));
    alarm(300);
    OK(tt_tune(&report, v.ctx, &p, 1, &tune));
    assert_true(v.in_thread);
    pthread_join(v.thread, NULL);
    alarm(0);
    assert_true(v.launched);
    tt_report_free(&report);
    CU_OK(cu->cuCtxSynchronize());
    tt_close(&v.ctx);
    CU_OK(cu->cuMemFree(v.src));
    CU_OK(cu->cuMemFree(v.dst));
}

static void test_needs_a_context(void **state) {
    (void)state;
    CUcontext context;
    tt_plan *plan;
    tt_problem p = matrix_of(64, 64, 0, 0, 4);
    CU_OK(cu->cuCtxGetCurrent(&context));
    CU_OK(cu->cuCtxSetCurrent(NULL));
    tt_status status = tt_plan_create(&plan, device_ctx, &p);
    tt_status transpose_status = tt_transpose(device_ctx, &p, 4096, 8192, NULL);
    CU_OK(cu->cuCtxSetCurrent(context));
    assert_int_equal(status, TT_E_NO_DEVICE);
    assert_int_equal(transpose_status, TT_E_NO_DEVICE);
    assert_null(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_misaligned_bases),
        cmocka_unit_test(test_misaligned_in_place),
        cmocka_unit_test(test_elements_off_their_places),
        cmocka_unit_test(test_rectangles_in_place),
        cmocka_unit_test(test_plan_with_scratch),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_plan_refuses_misaligned),
        cmocka_unit_test(test_refuses_address_0),
        cmocka_unit_test(test_plan_outlives_context),
        cmocka_unit_test(test_freed_in_a_child),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_a_call_back_may_launch),
        cmocka_unit_test(test_needs_a_context),
    };
    return device_open() ? cmocka_run_group_tests(tests, device_enter, device_leave) : device_missing();
}
