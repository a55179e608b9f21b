/*
 * Tuning on first use. The problem is tuned once, from any number of threads and processes. Even if
 * the tuning fails, there is a plan that works.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/clock.h"
#include "device.h"
#include "dispatch/context.h"

enum { PROCESSES = 3, THREADS = 4, BYTES = 1 << 16 };

/* Rows that are aligned to 4 bytes only leave the space small: it is searched in a second or two. */
static const double enough_s = 200;
static char folder[] = "/tmp/tiletune-first-use-XXXXXX", program[4096];

/* Replaces the C library's: the time of day jumps. */
static time_t jump_s;
int clock_gettime(clockid_t clock, struct timespec *t) {
    long r = syscall(SYS_clock_gettime, clock, t);
    t->tv_sec += clock == CLOCK_REALTIME ? jump_s : 0;
    return (int)r;
}

/* Replaces the C library's. Once, the descriptor is copied while the file is locked, as a fork does. */
static bool copies;
static int copied = -1;
int flock(int fd, int how) {
    const long r = syscall(SYS_flock, fd, how);
    if (r == 0 && copies && (how & LOCK_EX)) {
        copies = false;
        copied = dup(fd);
    }
    return (int)r;
}

static const char *db(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static tt_status open_with(tt_ctx **out, const char *path, double budget_s) {
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = path;
    opts.tune_budget_s = budget_s;
    return tt_open(out, &opts);
}

static tt_problem problem_of(int64_t rows, int64_t cols) {
    tt_problem p = TT_INIT(tt_problem);
    p.rows = rows;
    p.cols = cols;
    return p;
}

static int64_t number(const char *path, const char *sql) {
    sqlite3 *opened;
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(opened, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(opened);
    return value;
}

static const char how_often_tuned[] = "SELECT count(*) FROM run";

static void test_works(const tt_plan *plan, int64_t rows, int64_t cols) {
    static unsigned char src[BYTES], dst[BYTES];
    CUdeviceptr from, to;
    for (size_t i = 0; i < sizeof src; i++)
        src[i] = (unsigned char)(i * 2654435761u >> 13);
    CU_OK(cu->cuMemAlloc(&from, BYTES));
    CU_OK(cu->cuMemAlloc(&to, BYTES));
    CU_OK(device_put(from, src, BYTES));
    OK(tt_plan_launch(plan, to, from, NULL));
    CU_OK(cu->cuCtxSynchronize());
    CU_OK(cu->cuMemcpyDtoH(dst, to, BYTES));
    assert_true(transposed(dst, src, rows, cols, cols, rows, 4));
    CU_OK(cu->cuMemFree(from));
    CU_OK(cu->cuMemFree(to));
}

/* Is it the answer of a library that was never tuned? It depends on the GPU: if its winners ship with the
 * library, the nearest of them was measured on it. */
static bool as_if_untuned(const tt_plan *plan, const tt_problem *p) {
    tt_ctx *ctx;
    tt_plan *untuned;
    const tt_choice *got = tt_plan_choice(plan);
    OK(open_with(&ctx, ":memory:", 0));
    OK(tt_plan_create(&untuned, ctx, p));
    const tt_choice expected = *tt_plan_choice(untuned);
    tt_plan_free(&untuned);
    tt_close(&ctx);
    assert_true(expected.match > TT_MATCH_STALE); /* this problem is in no recording */
    return got->match == expected.match && strcmp(got->layer, expected.layer) == 0 &&
           strcmp(got->kernel, expected.kernel) == 0 && strcmp(got->config, expected.config) == 0;
}

static void tuned_once(void **state) {
    (void)state;
    tt_ctx *ctx;
    tt_plan *plan;
    tt_problem p = problem_of(33, 33);
    OK(open_with(&ctx, db("once.db"), 0));
    OK(tt_plan_create(&plan, ctx, &p)); /* without a budget nothing is tuned */
    assert_true(as_if_untuned(plan, &p));
    tt_plan_free(&plan);
    tt_close(&ctx);
    OK(open_with(&ctx, db("once.db"), enough_s));
    for (int i = 0; i < 3; i++) {
        OK(tt_plan_create(&plan, ctx, &p));
        assert_int_equal(tt_plan_choice(plan)->match, TT_MATCH_EXACT);
        test_works(plan, 33, 33);
        tt_plan_free(&plan);
    }
    tt_close(&ctx);
    assert_int_equal(number(db("once.db"), how_often_tuned), 1);
}

/* The warm problem is tuned, and not the cold one in its place. */
static void warm_is_tuned_warm(void **state) {
    (void)state;
    tt_ctx *ctx;
    tt_plan *plan;
    tt_problem p = problem_of(33, 37);
    p.warm = 1;
    OK(open_with(&ctx, db("warm.db"), enough_s));
    OK(tt_plan_create(&plan, ctx, &p));
    assert_int_equal(tt_plan_choice(plan)->match, TT_MATCH_EXACT);
    test_works(plan, 33, 37);
    tt_plan_free(&plan);
    tt_close(&ctx);
    assert_int_equal(number(db("warm.db"), "SELECT count(*) FROM problem WHERE NOT warm"), 0);
}

/* ---- Many at once -------------------------------------------------------------------------------------- */

static FILE *start_process(const char *path, int64_t rows, int64_t cols) {
    char line[8192];
    snprintf(line, sizeof line, "'%s' '%s' %g %lld %lld", program, path, enough_s, (long long)rows,
             (long long)cols);
    FILE *f = popen(line, "r");
    assert_non_null(f);
    return f;
}

static void one_of_many_processes_tunes(void **state) {
    (void)state;
    FILE *children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++)
        children[i] = start_process(db("processes.db"), 35, 33);
    for (int i = 0; i < PROCESSES; i++) {
        char match[64] = "";
        assert_non_null(fgets(match, sizeof match, children[i]));
        assert_int_equal(pclose(children[i]), 0);
        assert_string_equal(match, "exact\n");
    }
    assert_int_equal(number(db("processes.db"), how_often_tuned), 1);
}

typedef struct user {
    tt_ctx *ctx;
    CUcontext context;
    bool ok;
} user;

static void *transpose(void *arg) {
    user *u = arg;
    CUdeviceptr from, to;
    tt_problem p = problem_of(33, 35);
    u->ok = cu->cuCtxSetCurrent(u->context) == CUDA_SUCCESS && cu->cuMemAlloc(&from, BYTES) == CUDA_SUCCESS &&
            cu->cuMemAlloc(&to, BYTES) == CUDA_SUCCESS && tt_transpose(u->ctx, &p, to, from, NULL) == TT_OK &&
            cu->cuCtxSynchronize() == CUDA_SUCCESS && cu->cuMemFree(from) == CUDA_SUCCESS &&
            cu->cuMemFree(to) == CUDA_SUCCESS;
    return NULL;
}

static void one_of_many_threads_tunes(void **state) {
    (void)state;
    tt_ctx *ctx;
    tt_plan *plan;
    CUcontext context;
    pthread_t threads[THREADS];
    user users[THREADS];
    tt_problem p = problem_of(33, 35);
    CU_OK(cu->cuCtxGetCurrent(&context));
    OK(open_with(&ctx, db("threads.db"), enough_s));
    for (int i = 0; i < THREADS; i++) {
        users[i] = (user){ctx, context, false};
        assert_int_equal(pthread_create(&threads[i], NULL, transpose, &users[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        assert_true(users[i].ok);
    OK(tt_plan_create(&plan, ctx, &p));
    assert_int_equal(tt_plan_choice(plan)->match, TT_MATCH_EXACT);
    tt_plan_free(&plan);
    tt_close(&ctx);
    assert_int_equal(number(db("threads.db"), how_often_tuned), 1);
}

/* ---- When it does not work out ------------------------------------------------------------------------- */

static void serves_whatever_becomes_of_it(void **state) {
    (void)state;
    static const struct {
        double budget_s;
        const char *worker, *says;
    } cases[] = {{0.01, NULL, "tuning failed: the budget of "},
                 {5, "/nonexistent", "tuning failed: TILETUNE_WORKER names /nonexistent"}};
    char *worker = strdup(getenv("TILETUNE_WORKER") ? getenv("TILETUNE_WORKER") : "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt_ctx *ctx;
        tt_plan *plan;
        tt_problem p = problem_of(41, 33);
        if (cases[i].worker)
            setenv("TILETUNE_WORKER", cases[i].worker, 1);
        OK(open_with(&ctx, db("fails.db"), cases[i].budget_s));
        double before_s = tt__now_s();
        for (int k = 0; k < 2; k++) { /* the second time it is not tried */
            OK(tt_plan_create(&plan, ctx, &p));
            assert_true(as_if_untuned(plan, &p));
            if (strstr(tt_plan_choice(plan)->why, cases[i].says) != tt_plan_choice(plan)->why)
                fail_msg("%s", tt_plan_choice(plan)->why);
            test_works(plan, 41, 33);
            tt_plan_free(&plan);
        }
        assert_true(tt__now_s() - before_s < 30);
        tt_close(&ctx);
        if (*worker)
            setenv("TILETUNE_WORKER", worker, 1);
        else
            unsetenv("TILETUNE_WORKER");
    }
    free(worker);
}

/* Thousands of configurations, and time for some: the best of those is the winner. Compilers of the CPU
 * stand-in take their time asleep. */
static void a_short_budget_gives_what_was_found(void **state) {
    (void)state;
    tt_ctx *ctx;
    tt_plan *plan;
    tt_problem p = problem_of(64, 64);
    setenv("HOSTCUDA_FAULTS", ":compile_slow=150", 1);
    OK(open_with(&ctx, db("short.db"), device_may_take_long() ? 8 : 4));
    double before_s = tt__now_s();
    OK(tt_plan_create(&plan, ctx, &p));
    assert_true(tt__now_s() - before_s < 30);
    unsetenv("HOSTCUDA_FAULTS");
    assert_int_equal(tt_plan_choice(plan)->match, TT_MATCH_EXACT);
    test_works(plan, 64, 64);
    tt_plan_free(&plan);
    tt_close(&ctx);
}

/* Another process is at it and does not come to an end. */
static void waits_no_longer_than_the_budget(void **state) {
    (void)state;
    tt_ctx *ctx;
    tt_plan *plan;
    tt_problem p = problem_of(45, 33);
    OK(open_with(&ctx, db("waits.db"), 0.3));
    int fd = open(db("waits.db-tuning"), O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0);
    double before_s = tt__now_s();
    OK(tt_plan_create(&plan, ctx, &p));
    assert_true(tt__now_s() - before_s >= 0.3 && tt__now_s() - before_s < 20);
    assert_true(as_if_untuned(plan, &p));
    assert_non_null(strstr(tt_plan_choice(plan)->why, "another process was tuning"));
    test_works(plan, 45, 33);
    close(fd);
    tt_plan_free(&plan);
    tt_close(&ctx);
    assert_int_equal(number(db("waits.db"), how_often_tuned), 0);
}

/* A child that is forked during the tuning gets a copy of the descriptor. The lock must not live as long as
 * that. */
static void a_forked_child_keeps_no_lock(void **state) {
    (void)state;
    tt_ctx *ctx;
    tt_plan *plan;
    tt_problem p = problem_of(45, 29);
    OK(open_with(&ctx, db("forks.db"), 0.01));
    copies = true;
    OK(tt_plan_create(&plan, ctx, &p));
    assert_true(copied >= 0);
    int fd = open(db("forks.db-tuning"), O_RDWR);
    assert_true(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0);
    close(fd);
    close(copied);
    tt_plan_free(&plan);
    tt_close(&ctx);
}

/* Another thread is at it. The wait is as long whatever the time of day does meanwhile. */
static void waits_by_a_steady_clock(void **state) {
    (void)state;
    tt_ctx *ctx;
    tt_problem p = problem_of(45, 31);
    OK(open_with(&ctx, ":memory:", 0.5));
    pthread_mutex_lock(&ctx->tuning);
    for (jump_s = -3600; jump_s <= 3600; jump_s += 3600) {
        tt_plan *plan;
        double before_s = tt__now_s();
        OK(tt_plan_create(&plan, ctx, &p));
        assert_true(tt__now_s() - before_s >= 0.5 && tt__now_s() - before_s < 20);
        tt_plan_free(&plan);
    }
    jump_s = 0;
    pthread_mutex_unlock(&ctx->tuning);
    tt_close(&ctx);
}

static void not_in_a_capture(void **state) {
    (void)state;
    CUresult (*begin)(CUstream, CUstreamCaptureMode), (*end)(CUstream, CUgraph *), (*destroy)(CUgraph);
    CUstream stream;
    CUgraph graph;
    tt_ctx *ctx;
    tt_plan *plan;
    tt_problem p = problem_of(43, 33);
    device_symbol(&begin, "cuStreamBeginCapture_v2");
    device_symbol(&end, "cuStreamEndCapture");
    device_symbol(&destroy, "cuGraphDestroy");
    OK(open_with(&ctx, db("capture.db"), enough_s));
    CU_OK(cu->cuStreamCreate(&stream, 0));
    CU_OK(begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_int_equal(tt_transpose(ctx, &p, 4096, 8192, stream), TT_E_CAPTURE);
    tt_status planned = tt_plan_create(&plan, ctx, &p);
    CU_OK(end(stream, &graph)); /* or nothing else in this process would be tuned */
    CU_OK(destroy(graph));
    CU_OK(cu->cuStreamDestroy(stream));
    OK(planned);
    assert_true(as_if_untuned(plan, &p));
    tt_plan_free(&plan);
    tt_close(&ctx);
    assert_int_equal(number(db("capture.db"), how_often_tuned), 0);
}

/* A result of another driver is not measured again. */
static void not_what_is_stale(void **state) {
    (void)state;
    tt_ctx *ctx;
    tt_plan *plan;
    tt_problem p = problem_of(33, 33);
    assert_int_equal(number(db("once.db"), "UPDATE env SET driver = 'old' RETURNING 1"), 1);
    OK(open_with(&ctx, db("once.db"), enough_s));
    OK(tt_plan_create(&plan, ctx, &p));
    assert_int_equal(tt_plan_choice(plan)->match, TT_MATCH_STALE);
    assert_null(strstr(tt_plan_choice(plan)->why, "tuning"));
    tt_plan_free(&plan);
    tt_close(&ctx);
    assert_int_equal(number(db("once.db"), how_often_tuned), 1);
}

/* A context that may not write, or that asks for another GPU, does not tune. */
static void not_for_who_only_asks(void **state) {
    (void)state;
    tt_problem p = problem_of(47, 33);
    for (int named = 0; named < 2; named++) {
        tt_ctx *ctx;
        tt_plan *plan;
        tt_open_opts opts = TT_INIT(tt_open_opts);
        opts.db_path = db("once.db");
        opts.tune_budget_s = enough_s;
        opts.read_only = !named;
        opts.gpu = named ? "NVIDIA H200" : NULL;
        int64_t before = number(db("once.db"), how_often_tuned);
        OK(tt_open(&ctx, &opts));
        tt_status status = tt_plan_create(&plan, ctx, &p);
        if (status == TT_OK)
            assert_null(strstr(tt_plan_choice(plan)->why, "tuning"));
        assert_true(status == TT_OK || named);
        tt_plan_free(&plan);
        tt_close(&ctx);
        assert_int_equal(number(db("once.db"), how_often_tuned), before);
    }
}

/* The user's templates compete. */
static void tunes_the_users_templates(void **state) {
    (void)state;
    static const char *const templates[] = {TT_SOURCE_DIR "/tests/fault/faulty.cu"};
    tt_ctx *ctx;
    tt_plan *plan;
    tt_problem p = problem_of(33, 31);
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = db("templates.db");
    opts.tune_budget_s = enough_s;
    opts.templates = templates;
    opts.n_templates = 1;
    OK(tt_open(&ctx, &opts));
    OK(tt_plan_create(&plan, ctx, &p));
    assert_int_equal(tt_plan_choice(plan)->match, TT_MATCH_EXACT);
    tt_plan_free(&plan);
    tt_close(&ctx);
    assert_int_equal(number(db("templates.db"),
                            "SELECT count(*) > 0 FROM trial JOIN config ON config.id = config_id "
                            "JOIN template ON template.id = template_id WHERE kernel = 'faulty'"),
                     1);
}

static void a_budget_is_checked(void **state) {
    (void)state;
    static const double bad[] = {-1, 1e9};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tt_ctx *ctx;
        assert_int_equal(open_with(&ctx, ":memory:", bad[i]), TT_E_INVALID);
        assert_non_null(strstr(tt_last_error(), "tune_budget_s is "));
    }
}

static int be_a_process(char **argv) {
    tt_ctx *ctx;
    tt_plan *plan;
    tt_problem p = problem_of(atoi(argv[3]), atoi(argv[4]));
    if (open_with(&ctx, argv[1], atof(argv[2])) != TT_OK || tt_plan_create(&plan, ctx, &p) != TT_OK) {
        fprintf(stderr, "%s\n", tt_last_error());
        return 1;
    }
    puts(tt_match_name(tt_plan_choice(plan)->match));
    tt_plan_free(&plan);
    tt_close(&ctx);
    return 0;
}

static int enter(void **state) {
    (void)state;
    return mkdtemp(folder) && readlink("/proc/self/exe", program, sizeof program - 1) > 0 ? 0 : -1;
}

static int leave(void **state) {
    (void)state;
    char line[128];
    snprintf(line, sizeof line, "rm -rf '%s'", folder);
    return system(line);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_budget_is_checked),
        cmocka_unit_test(tuned_once),
        cmocka_unit_test(warm_is_tuned_warm),
        cmocka_unit_test(not_what_is_stale),
        cmocka_unit_test(not_for_who_only_asks),
        cmocka_unit_test(tunes_the_users_templates),
        cmocka_unit_test(one_of_many_processes_tunes),
        cmocka_unit_test(one_of_many_threads_tunes),
        cmocka_unit_test(serves_whatever_becomes_of_it),
        cmocka_unit_test(not_in_a_capture),
        cmocka_unit_test(a_short_budget_gives_what_was_found),
        cmocka_unit_test(waits_no_longer_than_the_budget),
        cmocka_unit_test(a_forked_child_keeps_no_lock),
        cmocka_unit_test(waits_by_a_steady_clock),
    };
    if (!device_open())
        return device_missing();
    return argc == 5 ? be_a_process(argv) : cmocka_run_group_tests(tests, enter, leave);
}
