/*
 * What a program launches without an exact winner is counted in a file: from any thread, by plans that
 * outlive their context, and at the end of a process that closes nothing.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "db/collected.h"
#include "own.h"
#include "write_in.h"

enum { BYTES = 1 << 16, THREADS = 8, CALLS = 3000 };

static char path[64];
static const char *program;
static CUcontext primary;
static CUdeviceptr from, to;

/* These replace the C library's. The clock jumps, and `meanwhile` is called once while a file is locked. */
static time_t jump_s;
int clock_gettime(clockid_t clock, struct timespec *t) {
    const long r = syscall(SYS_clock_gettime, clock, t);
    t->tv_sec += jump_s;
    return (int)r;
}

static void (*_Atomic meanwhile)(int fd);
int flock(int fd, int how) {
    const long r = syscall(SYS_flock, fd, how);
    void (*happens)(int) = r == 0 && (how & LOCK_EX) ? atomic_exchange(&meanwhile, NULL) : NULL;
    if (happens)
        happens(fd);
    return (int)r;
}

static int begin(void **state) {
    CU_OK(cu->cuCtxGetCurrent(&primary));
    CU_OK(cu->cuMemAlloc(&from, BYTES));
    CU_OK(cu->cuMemAlloc(&to, BYTES));
    const int failed = setup(state);
    snprintf(path, sizeof path, "%s/asked.json", folder);
    return failed;
}

static int end(void **state) {
    cu->cuMemFree(from);
    cu->cuMemFree(to);
    return teardown(state);
}

static tt_ctx *collecting(const char *file) {
    tt_open_opts opts = TT_INIT(tt_open_opts);
    tt_ctx *own;
    opts.db_path = ":memory:";
    opts.collect_file = file;
    OK(tt_open(&own, &opts));
    return own;
}

static tt__collection collected(void) {
    tt__collection read;
    assert_int_equal(tt__collection_read(&read, path, NULL, NULL), TT_OK);
    assert_int_equal(read.n_bad, 0);
    return read;
}

/* How often the problem was launched. */
static uint64_t launches_of(const char *op, const char *values) {
    tt__collection read = collected();
    uint64_t n = 0;
    for (size_t i = 0; i < read.n; i++)
        if (strcmp(read.items[i].op, op) == 0 && strcmp(read.items[i].values, values) == 0)
            n = read.items[i].launches;
    tt__collection_free(&read);
    return n;
}

static void transpose(tt_ctx *own, int64_t rows, int64_t cols, int times) {
    const tt_problem p = matrix_of(rows, cols, 0, 0, 4);
    for (int i = 0; i < times; i++)
        OK(tt_transpose(own, &p, to, from, NULL));
}

static void test_counts(void **state) {
    static const int64_t dims[] = {3, 4, 5, 6};
    static const int perm[] = {3, 1, 2, 0};
    (void)state;
    tt_permutation p = TT_INIT(tt_permutation);
    p.rank = 4;
    p.dims = dims;
    p.perm = perm;
    unlink(path);
    tt_ctx *own = collecting(path);
    transpose(own, 30, 40, 700);
    transpose(own, 31, 40, 1);
    tt_problem half = matrix_of(30, 40, 0, 0, 2);
    half.warm = 1;
    OK(tt_transpose(own, &half, to, from, NULL));
    for (int i = 0; i < 5; i++)
        OK(tt_permute(own, &p, to, from, NULL));
    tt_close(&own);
    assert_int_equal(launches_of("transpose", "rows=30,cols=40"), 700);
    assert_int_equal(launches_of("transpose", "rows=31,cols=40"), 1);
    assert_int_equal(launches_of("transpose", "rows=30,cols=40,elem_size=2,warm"), 1);
    tt__collection read = collected();
    uint64_t permuted = 0;
    for (size_t i = 0; i < read.n; i++) {
        permuted += strcmp(read.items[i].op, "permute") == 0 ? read.items[i].launches : 0;
        assert_true(read.items[i].time_us >= 2);
        assert_null(read.items[i].kernel);
    }
    assert_int_equal(read.n, 4);
    assert_int_equal(permuted, 5);
    tt__collection_free(&read);
    own = collecting(path); /* another program adds to it */
    transpose(own, 30, 40, 3);
    tt_close(&own);
    assert_int_equal(launches_of("transpose", "rows=30,cols=40"), 703);
}

/* A plan that is made and not launched is no evidence. */
static void test_plans_outlive_the_context(void **state) {
    (void)state;
    const tt_problem p = matrix_of(20, 40, 0, 0, 4), other = matrix_of(21, 40, 0, 0, 4);
    tt_plan *plan, *idle;
    unlink(path);
    tt_ctx *own = collecting(path);
    OK(tt_plan_create(&plan, own, &p));
    OK(tt_plan_create(&idle, own, &other));
    OK(tt_plan_launch(plan, to, from, NULL));
    tt_close(&own);
    assert_int_equal(launches_of("transpose", "rows=20,cols=40"), 1);
    OK(tt_plan_launch(plan, to, from, NULL));
    CU_OK(cu->cuCtxSynchronize());
    tt_plan_free(&idle);
    tt_plan_free(&plan);
    assert_int_equal(launches_of("transpose", "rows=20,cols=40"), 2);
    assert_int_equal(launches_of("transpose", "rows=21,cols=40"), 0);
}

/* A launch that fails is none. */
static void test_own_kernel(void **state) {
    (void)state;
    char file[80];
    tt_kernel *k;
    tt_plan *plan;
    given g;
    unlink(path);
    write_in(folder, "own.cu", source);
    snprintf(file, sizeof file, "%s/own.cu", folder);
    tt_ctx *own = collecting(path);
    OK(tt_kernel_open(&k, own, file, NULL));
    OK(kernel_plan(&plan, k, "n=777"));
    make(&g, 4, 3, 5);
    assert_int_equal(tt_plan_launch_args(plan, g.args, N_ARGS - 1, NULL), TT_E_INVALID);
    for (int i = 0; i < 3; i++)
        OK(tt_plan_launch_args(plan, g.args, N_ARGS, NULL));
    check(&g, 777, 3);
    tt_plan_free(&plan);
    tt_kernel_close(&k);
    tt_close(&own);
    drop(&g);
    tt__collection read = collected();
    assert_int_equal(read.n, 1);
    assert_string_equal(read.items[0].op, "parts_of");
    assert_string_equal(read.items[0].kernel, file);
    assert_string_equal(read.items[0].values, "n=777");
    assert_int_equal(read.items[0].launches, 3);
    tt__collection_free(&read);
}

/* An exact winner is what collecting leads to, so it is not collected. */
static void test_leaves_exact_winners_out(void **state) {
    (void)state;
    const tt_problem p = matrix_of(33, 33, 0, 0, 4);
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    tt_report *report;
    opts.max_trials = 2;
    unlink(path);
    tt_ctx *own = collecting(path);
    OK(tt_tune(&report, own, &p, 1, &opts));
    tt_report_free(&report);
    transpose(own, 33, 33, 2);
    transpose(own, 34, 33, 2);
    tt_close(&own);
    assert_int_equal(launches_of("transpose", "rows=33,cols=33"), 0);
    assert_int_equal(launches_of("transpose", "rows=34,cols=33"), 2);
}

static tt_ctx *shared;

static void *call(void *arg) {
    (void)arg;
    const tt_problem p = matrix_of(30, 40, 0, 0, 4);
    bool ok = cu->cuCtxSetCurrent(primary) == CUDA_SUCCESS;
    for (int i = 0; i < CALLS && ok; i++)
        ok = tt_transpose(shared, &p, to, from, NULL) == TT_OK;
    return ok ? &primary : NULL;
}

static void test_threads(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    unlink(path);
    shared = collecting(path);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call, NULL), 0);
    device_join(threads, THREADS);
    CU_OK(cu->cuCtxSynchronize());
    tt_close(&shared);
    assert_int_equal(launches_of("transpose", "rows=30,cols=40"), THREADS * CALLS);
}

/* Shapes without end: memory holds those that are not written yet, and the file those that cost most. */
static void test_many_shapes(void **state) {
    (void)state;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    tt_ctx *own;
    enum { N = 300 };
    unlink(path);
    opts.db_path = ":memory:";
    opts.collect_file = path;
    opts.plans_kept = 16;
    OK(tt_open(&own, &opts));
    for (int i = 0; i < N; i++)
        transpose(own, 61 + i % 60, 67 + i / 60, 1); /* few of them have a kernel of their own */
    CU_OK(cu->cuCtxSynchronize());
    tt_close(&own);
    tt__collection read = collected();
    assert_int_equal(read.n, N);
    tt__collection_free(&read);
}

/* The variable serves programs that know nothing of it. A file that is something else is an error at once. */
static void test_variable_and_refusals(void **state) {
    (void)state;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    tt_ctx *own;
    char kernel[80];
    unlink(path);
    setenv("TILETUNE_COLLECT", path, 1);
    own = collecting(NULL);
    transpose(own, 30, 41, 2);
    tt_close(&own);
    setenv("TILETUNE_COLLECT", "", 1);
    own = collecting(NULL);
    transpose(own, 30, 41, 2);
    tt_close(&own);
    assert_int_equal(launches_of("transpose", "rows=30,cols=41"), 2);
    snprintf(kernel, sizeof kernel, "%s/own.cu", folder);
    opts.db_path = ":memory:";
    setenv("TILETUNE_COLLECT", "/nonexistent/asked.json", 1);
    assert_int_equal(tt_open(&own, &opts), TT_E_IO);
    assert_non_null(strstr(tt_last_error(), "TILETUNE_COLLECT: /nonexistent/asked.json: cannot be opened"));
    unsetenv("TILETUNE_COLLECT");
    opts.collect_file = kernel;
    assert_int_equal(tt_open(&own, &opts), TT_E_INVALID);
    assert_null(own);
    assert_non_null(strstr(tt_last_error(), "is not a file of collected problems"));
    opts.collect_file = "/nonexistent/asked.json";
    assert_int_equal(tt_open(&own, &opts), TT_E_IO);
}

static int copied = -1;

static void copy_descriptor(int fd) {
    copied = dup(fd);
}

/* A child that is forked while the file is locked gets a copy of the descriptor. The lock must not live as
 * long as that. */
static void test_a_forked_child_keeps_no_lock(void **state) {
    (void)state;
    unlink(path);
    tt_ctx *own = collecting(path);
    tt_close(&own); /* now the file has its first line, and is not replaced */
    meanwhile = copy_descriptor;
    own = collecting(path);
    assert_true(copied >= 0);
    const int fd = open(path, O_RDWR);
    assert_true(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0);
    close(fd);
    close(copied);
    tt_close(&own);
}

static void run_again(const char *how) {
    char command[160];
    unlink(path);
    snprintf(command, sizeof command, "'%s' %s '%s'", program, how, path);
    assert_int_equal(system(command), 0);
}

/* A child of fork that exits normally runs the same functions at its end. It must not count again. */
static void test_ends_of_processes(void **state) {
    (void)state;
    run_again("child");
    assert_int_equal(launches_of("transpose", "rows=30,cols=40"), 4);
}

/* The process ends while one of its threads writes. The end waits for that thread, so no count is lost. */
static void test_ends_during_a_write(void **state) {
    (void)state;
    run_again("write");
    assert_int_equal(launches_of("transpose", "rows=30,cols=40"), 5);
    assert_int_equal(launches_of("transpose", "rows=31,cols=40"), 1);
}

/* Closes nothing. */
static void launch_four(const char *file) {
    shared = collecting(file); /* still referred to at the end, for LeakSanitizer */
    CU_OK(cu->cuCtxGetCurrent(&primary));
    CU_OK(cu->cuMemAlloc(&from, BYTES));
    CU_OK(cu->cuMemAlloc(&to, BYTES));
    transpose(shared, 30, 40, 4);
    CU_OK(cu->cuCtxSynchronize());
}

static sem_t is_writing;

static void take_long(int fd) {
    (void)fd;
    sem_post(&is_writing);
    usleep(300000);
}

static void *launch_late(void *arg) {
    (void)arg;
    CU_OK(cu->cuCtxSetCurrent(primary));
    transpose(shared, 31, 40, 1);
    sem_post(&is_writing); /* also if it did not write */
    return NULL;
}

static int end_during_a_write(const char *file) {
    pthread_t thread;
    launch_four(file);
    sem_init(&is_writing, 0, 0);
    jump_s = 60; /* it is time to write */
    meanwhile = take_long;
    if (pthread_create(&thread, NULL, launch_late, NULL) != 0)
        return 1;
    pthread_detach(thread);
    sem_wait(&is_writing);
    transpose(shared, 30, 40, 1);
    return meanwhile != NULL;
}

static int child(const char *file) {
    launch_four(file);
    const pid_t forked = fork();
    int status = 0;
    if (forked)
        waitpid(forked, &status, 0);
    return status;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_plans_outlive_the_context),
        cmocka_unit_test(test_own_kernel),
        cmocka_unit_test(test_leaves_exact_winners_out),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_many_shapes),
        cmocka_unit_test(test_variable_and_refusals),
        cmocka_unit_test(test_a_forked_child_keeps_no_lock),
        cmocka_unit_test(test_ends_of_processes),
        cmocka_unit_test(test_ends_during_a_write),
    };
    unsetenv("TILETUNE_COLLECT");
    if (!device_open())
        return device_missing();
    if (argc == 3)
        return strcmp(argv[1], "child") == 0 ? child(argv[2]) : end_during_a_write(argv[2]);
    program = argv[0];
    return cmocka_run_group_tests(tests, begin, end);
}
