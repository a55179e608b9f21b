/*
 * Preparing the arrays of problems early, on the CPU stand-in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/problem.h"
#include "db/conn.h"
#include "db/store.h"
#include "device/device.h"
#include "kernel/load/builtin.h"
#include "kernel/load/parse.h"
#include "kernel/space/operation.h"
#include "kernel/space/space.h"
#include "tuner/backend/gpu/backend_gpu.h"
#include "tuner/farm/cubins.h"

static const char doubled[] = "//@ kernel    doubled\n"
                              "//@ problem   n 1000\n"
                              "//@ buffer    x i32 n in\n"
                              "//@ buffer    y i32 n out\n"
                              "//@ param     TIMES 2 3\n" /* only one of them is right */
                              "//@ block     64\n"
                              "//@ grid      ceil_div(n, 64)\n"
                              "//@ args      y, x, i64 n\n"
                              "//@ default   TIMES=2\n"
                              "//@ reference added\n"
                              "//@ block     64\n"
                              "//@ grid      ceil_div(n, 64)\n"
                              "//@ args      y, x, i64 n\n"
                              "extern \"C\" __global__ void doubled(int *y, const int *x, long long n) {\n"
                              "    const long long i = blockIdx.x * 64 + threadIdx.x;\n"
                              "    if (i < n)\n"
                              "        y[i] = (int)(TIMES * (unsigned)x[i]);\n"
                              "}\n"
                              "extern \"C\" __global__ void added(int *y, const int *x, long long n) {\n"
                              "    const long long i = blockIdx.x * 64 + threadIdx.x;\n"
                              "    if (i < n)\n"
                              "        y[i] = (int)((unsigned)x[i] + (unsigned)x[i]);\n"
                              "}\n";

typedef struct bench {
    tt__template_set templates;
    tt__template *own;
    tt__store *store;
    tt__backend *backend;
    tt__gpu gpu;
    tt__expected expected;
} bench;

static void open_bench(bench *b, int jobs) {
    tt__env env;
    *b = (bench){0};
    OK(tt__template_set_open(&b->templates, NULL, 0));
    OK(tt__template_parse(&b->own, "doubled.cu", doubled));
    OK(tt__store_open(&b->store, ":memory:", TT__STORE_READ_WRITE));
    b->expected.gpu = &b->gpu;
    OK(tt__backend_gpu(&b->backend, &(tt__backend_gpu_opts){.jobs = jobs,
                                                            .trial_timeout_s = 60,
                                                            .compile_timeout_s = 60,
                                                            .store = b->store,
                                                            .expected = &b->expected}));
    OK(b->backend->ops->hello(b->backend, &b->gpu, &env));
}

static void close_bench(bench *b) {
    b->backend->ops->close(b->backend);
    tt__expected_close(&b->expected);
    tt__store_close(&b->store);
    tt__template_free(&b->own);
    tt__template_set_close(&b->templates);
}

static void a_trial(bench *b, const tt__template *t, const tt__problem *p) {
    tt__candidate c;
    tt__trial trial;
    size_t id;
    OK(tt__space_resolve(&c, t, &b->gpu, p, t->default_config));
    OK(b->backend->ops->submit(b->backend, 7, &c.configuration, 0));
    OK(b->backend->ops->wait(b->backend, &id, &trial));
    assert_int_equal(id, 7);
    if (trial.status != TT__TRIAL_OK)
        fail_msg("%s: %s", tt__trial_status_name(trial.status), trial.reason);
}

static tt__problem matrix(int64_t side) {
    tt_problem asked = TT_INIT(tt_problem);
    tt__problem p;
    asked.rows = asked.cols = side;
    OK(tt__matrix_problem(&p, &asked));
    return p;
}

/* A search that ends before its first trial leaves arrays that are being made ready, or are, to the next one,
 * which must not take them for its own. */
static void nothing_tried(unsigned meanwhile_us) {
    bench b;
    open_bench(&b, 2);
    const tt__backend_ops *ops = b.backend->ops;
    const tt__template *t = tt__template_set_find(&b.templates, "transpose_tiled");
    tt__problem first = matrix(33), second = matrix(65), third;
    OK(ops->problem(b.backend, &first, t));
    a_trial(&b, t, &first);
    OK(ops->problem(b.backend, &second, t));
    OK(ops->prepare(b.backend));
    usleep(meanwhile_us);
    OK(tt__operation_problem(&third, b.own->operation, "doubled", "n=5000"));
    OK(ops->problem(b.backend, &third, b.own)); /* its reference is not compiled yet */
    OK(ops->prepare(b.backend));
    a_trial(&b, b.own, &third);
    OK(ops->problem(b.backend, &first, t));
    OK(ops->prepare(b.backend));
    OK(ops->problem(b.backend, &second, t));
    OK(ops->prepare(b.backend));
    OK(ops->problem(b.backend, &first, t));
    OK(ops->prepare(b.backend));
    a_trial(&b, t, &first);
    close_bench(&b);
}

/* Trials in flight are dropped with their problem. Later replies are about the next problem. */
static void test_trials_given_up(void **state) {
    (void)state;
    enum { TRIALS = 6 };
    bench b;
    tt__candidate c;
    tt__trial trial;
    size_t id;
    tt__problem first = matrix(33), second = matrix(65);
    open_bench(&b, 2);
    const tt__template *t = tt__template_set_find(&b.templates, "transpose_tiled");
    OK(tt__space_resolve(&c, t, &b.gpu, &first, t->default_config));
    OK(b.backend->ops->problem(b.backend, &first, t));
    for (size_t i = 0; i < TRIALS; i++)
        OK(b.backend->ops->submit(b.backend, 100 + i, &c.configuration, 0));
    OK(b.backend->ops->wait(b.backend, &id, &trial)); /* one is under way, and another asked for */
    OK(b.backend->ops->problem(b.backend, &second, t));
    a_trial(&b, t, &second);
    a_trial(&b, t, &second);
    close_bench(&b);
}

/* Of those that have the text in them. */
static size_t n_cubins_with(const bench *b, const char *text) {
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_prepare_v2(b->store->db,
                                        "SELECT count(*) FROM cubin WHERE instr(image, CAST(? AS BLOB))", -1,
                                        &stmt, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_bind_text(stmt, 1, text, -1, SQLITE_STATIC), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    size_t n = (size_t)sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return n;
}

static size_t n_cubins(const bench *b) {
    return n_cubins_with(b, "");
}

enum { SAVED_WITHIN_US = 100000 };

/* How many there are, once trials have brought no more for a while. */
static size_t n_saved(bench *b, const tt__template *t, const tt__problem *p) {
    enum { SAME = 10 };
    size_t n = 0;
    for (int same = 0; same < SAME; same++) {
        a_trial(b, t, p);
        usleep(SAVED_WITHIN_US / 2);
        const size_t now = n_cubins(b);
        if (now != n)
            same = 0;
        n = now;
    }
    return n;
}

/* The next expected configuration is compiled while another is tried, and forgotten with its problem. */
static void test_expected_next(void **state) {
    static const char *const configs[] = {"TILE_DIM=32 BLOCK_ROWS=8 PAD=2 UNROLL=1 ORDER=0",
                                          "TILE_DIM=16 BLOCK_ROWS=8 PAD=2 UNROLL=1 ORDER=0"};
    (void)state;
    bench b;
    tt__candidate c[2];
    const tt__configuration *next[] = {&c[0].configuration, &c[1].configuration};
    tt__problem p = matrix(33);
    open_bench(&b, 2);
    const tt__backend_ops *ops = b.backend->ops;
    const tt__template *t = tt__template_set_find(&b.templates, "transpose_tiled");
    for (int i = 0; i < 2; i++)
        OK(tt__space_resolve(&c[i], t, &b.gpu, &p, configs[i]));
    OK(ops->problem(b.backend, &p, t));
    const size_t before = n_saved(&b, t, &p);
    OK(tt__expected_soon(&b.expected, &next[0], 1, &p));
    for (int i = 0; i < 200 && n_cubins(&b) < before + 1; i++) {
        a_trial(&b, t, &p);
        usleep(SAVED_WITHIN_US / 2);
    }
    assert_int_equal(n_cubins(&b), before + 1);
    OK(tt__expected_soon(&b.expected, &next[1], 1, &p));
    OK(ops->problem(b.backend, &p, t));
    for (int i = 0; i < 20; i++) {
        a_trial(&b, t, &p);
        usleep(SAVED_WITHIN_US / 2);
    }
    assert_int_equal(n_cubins(&b), before + 1);
    close_bench(&b);
}

/* Expecting configurations of an operation also expects its reference, while another problem runs. Parts of
 * the verifier may come, too. */
static void test_reference_is_expected(void **state) {
    (void)state;
    bench b;
    tt__candidate c;
    tt__problem first = matrix(33), next;
    open_bench(&b, 2);
    const tt__template *t = tt__template_set_find(&b.templates, "transpose_tiled");
    OK(tt__operation_problem(&next, b.own->operation, "doubled", "n=5000"));
    OK(tt__space_resolve(&c, b.own, &b.gpu, &next, "TIMES=3"));
    OK(b.backend->ops->problem(b.backend, &first, t));
    OK(tt__expected_later(&b.expected, &c.configuration, &next));
    for (int i = 0; i < 200 && n_cubins_with(&b, "doubled") < 2; i++) {
        OK(b.backend->ops->problem(b.backend, &first, t));
        a_trial(&b, t, &first);
        usleep(SAVED_WITHIN_US / 2);
    }
    assert_int_equal(n_cubins_with(&b, "doubled"), 2);
    close_bench(&b);
}

/* There is one compiler for each CPU. Their nice value is ten more than the GPU worker's. */
static void test_who_is_nice(void **state) {
    (void)state;
    bench b;
    int pid, n = 0, ours = getpriority(PRIO_PROCESS, 0);
    char path[64];
    open_bench(&b, 1);
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *children = fopen(path, "r");
    assert_non_null(children);
    for (; fscanf(children, "%d", &pid) == 1; n++) {
        char role[256] = "";
        snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        size_t length = fread(role, 1, sizeof role - 1, f);
        fclose(f);
        assert_true(length > strlen(role) + 1);
        bool compiles = strcmp(role + strlen(role) + 1, "compile") == 0;
        int nice = ours + (compiles ? 10 : 0);
        assert_int_equal(getpriority(PRIO_PROCESS, (id_t)pid), nice < 19 ? nice : 19);
    }
    assert_int_equal(n, 2);
    fclose(children);
    close_bench(&b);
}

static void test_nothing_tried(void **state) {
    (void)state;
    nothing_tried(0);
    nothing_tried(500000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_tried), cmocka_unit_test(test_trials_given_up),
        cmocka_unit_test(test_expected_next), cmocka_unit_test(test_reference_is_expected),
        cmocka_unit_test(test_who_is_nice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
