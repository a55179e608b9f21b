/*
 * From opening a store to closing it, the n-th call fails, for every n. There is a run for each of these:
 *
 * - an allocation of the library or SQLite,
 * - an SQL statement or a step of one,
 * - an access to the store's files,
 * - a call into the driver.
 *
 * Each time there is the right status and a message, no other answer, no leak, and the next try works. The
 * CPU stand-in counts living objects. AddressSanitizer sees more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/read_file.h"
#include "db/store.h"
#include "device/alloc.h"
#include "device/device.h"
#include "fault/sql.h"
#include "gpu/device.h"
#include "kernel/load/builtin.h"
#include "kernel/model/template.h"

/* There are thousands of allocations. So many of them fail, and more with TT_LONG. Without it, so many SQL
 * calls and accesses, too. If $NTH_EVERY is set, all of them fail: it is the number of processes that share
 * the work, and each takes every such n. */
enum { ROWS = 40, COLS = 56, BYTES = ROWS * COLS * 4, TRIES = 12, TRIES_LONG = 120, PROCESSES_MAX = 256 };

static char folder[] = "/tmp/tiletune-nth-XXXXXX";
static char stored[64], bare[64]; /* with winners and cubins; with winners only */
static char fresh[64];            /* made for each try */
static const char nothing[] = "", older[] = TT_SOURCE_DIR "/tests/data/store-v1.db"; /* initial content */
static const char *opened;                                                           /* by open_and_close */
static CUdeviceptr src, dst;
static unsigned char host[2][BYTES];
static int64_t rows;           /* of the problem */
static tt_choice chosen;       /* the last choice, if there was one */
static long share, shares = 1; /* this process, from 0, of so many */

/* ---- What is tried ------------------------------------------------------------------------------------- */

static tt_status open_it(tt_ctx **ctx, const char *db, double budget_s, bool read_only) {
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = db;
    opts.tune_budget_s = budget_s;
    opts.read_only = read_only;
    return tt_open(ctx, &opts);
}

static tt_problem problem(void) {
    tt_problem p = TT_INIT(tt_problem);
    p.rows = rows;
    p.cols = COLS;
    return p;
}

static tt_status open_and_close(tt_ctx *unused) {
    tt_ctx *ctx;
    (void)unused;
    tt_status status = open_it(&ctx, opened, 0, false);
    assert_true((ctx != NULL) == (status == TT_OK));
    tt_close(&ctx);
    return status;
}

static tt_status best(tt_ctx *ctx) {
    tt_problem p = problem();
    chosen = (tt_choice)TT_INIT(tt_choice);
    return tt_best(&chosen, ctx, &p);
}

static tt_status plan(tt_ctx *ctx) {
    tt_plan *made;
    tt_problem p = problem();
    tt_status status = tt_plan_create(&made, ctx, &p);
    assert_true((made != NULL) == (status == TT_OK));
    if (status == TT_OK) {
        chosen = *tt_plan_choice(made);
        status = tt_plan_launch(made, dst, src, NULL);
    }
    tt_plan_free(&made);
    return status;
}

static tt_status transpose(tt_ctx *ctx) {
    tt_problem p = problem();
    for (int i = 0; i < 20; i++) { /* two plans under more keys than the first table of the cache holds */
        p.rows = i % 2 ? ROWS : ROWS / 2;
        p.lds = i / 2 & 1 ? COLS : 0;
        p.elem_size = i / 2 & 2 ? 4 : 0;
        p.batch = i / 2 & 4 ? 1 : 0;
        p.align = i / 2 & 8 ? 16 : 0;
        TT_TRY(tt_transpose(ctx, &p, dst, src, NULL));
    }
    return TT_OK;
}

static const struct scenario {
    const char *name, *db;
    const char *from; /* initial content of `fresh` */
    tt_status (*run)(tt_ctx *ctx);
    int64_t rows;
    double budget_s;
    bool read_only;
    tt_match match; /* of the choice */
} scenarios[] = {
    {"open and close", stored, NULL, open_and_close, 0, 0, false, TT_MATCH_EXACT},
    {"open a new store", stored, nothing, open_and_close, 0, 0, false, TT_MATCH_EXACT},
    {"open a store of an older schema", stored, older, open_and_close, 0, 0, false, TT_MATCH_EXACT},
    {"best, tuned", stored, NULL, best, ROWS, 0, false, TT_MATCH_EXACT},
    {"best, tuned nearby", stored, NULL, best, ROWS + 4, 0, false, TT_MATCH_NEAREST},
    {"best, nothing tuned", ":memory:", NULL, best, ROWS, 0, false, TT_MATCH_OTHER_GPU},
    {"plan, stored", stored, NULL, plan, ROWS, 0, false, TT_MATCH_EXACT},
    {"plan, stored, read-only", stored, NULL, plan, ROWS, 0, true, TT_MATCH_EXACT},
    {"plan, compiled", fresh, bare, plan, ROWS, 0, false, TT_MATCH_EXACT},
    {"plan, tuned on first use, without a worker", ":memory:", NULL, plan, ROWS, 5, false,
     TT_MATCH_DEFAULT}, /* a narrow matrix */
    {"transpose", stored, NULL, transpose, ROWS, 0, false, TT_MATCH_EXACT},
};

/* ---- Failing ------------------------------------------------------------------------------------------- */

static int (*fail_driver_call)(long n);

static int fail_allocation(long n) {
    static long at;
    int to_come = alloc_count() < at;
    at = n > 0 ? alloc_count() + n : 0;
    alloc_fail(n);
    return to_come;
}

static int fail_driver(long n) {
    return fail_driver_call(n);
}

static const struct kind {
    const char *name;
    int (*arm)(long n);  /* the n-th from now on, 0: none; is the last one still to come? */
    long (*count)(void); /* so far; NULL: there are few */
    tt_status expected[2];
} kinds[] = {
    {"allocation", fail_allocation, alloc_count, {TT_E_NO_MEMORY, TT_E_NO_MEMORY}},
    {"SQL call",
     sql_fail_call,
     sql_call_count,
     {TT_E_DB, TT_E_INTERNAL}}, /* of the store, of an expression */
    {"access", sql_fail_access, sql_access_count, {TT_E_DB, TT_E_DB}},
    {"driver call", fail_driver, NULL, {TT_E_CUDA, TT_E_CUDA}},
};

static bool is_transposed(void) {
    CU_OK(cu->cuCtxSynchronize());
    CU_OK(cu->cuMemcpyDtoH(host[1], dst, BYTES));
    return transposed(host[1], host[0], ROWS, COLS, COLS, ROWS, 4);
}

static void make(const char *path, const char *from) {
    static const char *const beside[] = {"", "-wal", "-shm"};
    tt__str text;
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s%s", path, beside[i]);
        unlink(name);
    }
    if (from == nothing)
        return;
    OK(tt__read_file(&text, from));
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_true(fwrite(text.text, 1, text.len, f) == text.len && fchmod(fileno(f), 0600) == 0 &&
                fclose(f) == 0);
    tt__str_free(&text);
}

typedef struct outcome {
    bool failed_at_all; /* or there are no n of them */
    long count;
    tt_status status;
} outcome;

static outcome try(const struct scenario *s, const struct kind *k, long n) {
    tt_ctx *ctx;
    outcome o;
    long live = alloc_live(), objects = device_objects(), files = sql_files();
    rows = s->rows;
    opened = s->from ? fresh : stored;
    if (s->from)
        make(fresh, s->from);
    OK(open_it(&ctx, s->db, s->budget_s, s->read_only));
    long before = k->count ? k->count() : 0;
    k->arm(n);
    o.status = s->run(ctx);
    o.count = k->count ? k->count() - before : 0;
    o.failed_at_all = !k->arm(0) && n > 0;
    tt_close(&ctx);
    if (s->run == open_and_close && open_and_close(NULL) != TT_OK)
        fail_msg("%s: %s %ld failed, and then it cannot be opened: %s", s->name, k->name, n, tt_last_error());
    /* A plan that works, and an object that is left: the call that failed was to unload it. */
    bool not_unloaded = k->arm == fail_driver && o.status == TT_OK && device_objects() == objects + 1;
    if (alloc_live() != live || sql_files() != files || (device_objects() != objects && !not_unloaded))
        fail_msg("%s: %s %ld: %ld allocations, %ld files and %ld objects of the driver are left", s->name,
                 k->name, n, alloc_live() - live, sql_files() - files, device_objects() - objects);
    return o;
}

/* It says what has failed, or does without and answers as ever. */
static void check(const struct scenario *s, const struct kind *k, long n, const outcome *o,
                  const tt_choice *usual) {
    if (o->status != TT_OK && ((o->status != k->expected[0] && o->status != k->expected[1]) ||
                               !*tt_last_error() || !o->failed_at_all))
        fail_msg("%s: %s %ld failed: %s: %s", s->name, k->name, n, tt_strerror(o->status), tt_last_error());
    if (o->status == TT_OK && strcmp(chosen.config, usual->config) != 0)
        fail_msg("%s: %s %ld failed, and %s %s was chosen in place of %s %s", s->name, k->name, n,
                 chosen.kernel, chosen.config, usual->kernel, usual->config);
}

static void every(const struct kind *k) {
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        const struct scenario *s = &scenarios[i];
        chosen = (tt_choice){0};
        long refused = 0, tried = 0, all = try(s, k, 0).count;
        const tt_choice usual = chosen;
        assert_int_equal(usual.match, s->match);
        const bool is_long = device_may_take_long();
        bool sampled = (k->arm == fail_allocation || (k->count && !is_long)) && !getenv("NTH_EVERY");
        const long tries = is_long ? TRIES_LONG : TRIES;
        long step = sampled ? all / tries + 1 : shares, n = 1 + share;
        for (outcome o = {.failed_at_all = true}; o.failed_at_all; n += step, tried++) {
            o = try(s, k, n);
            refused += o.status != TT_OK;
            check(s, k, n, &o, &usual);
        }
        assert_int_equal(try(s, k, 0).status, TT_OK);
        print_message("%s: %ld of %ld tried, %ld refused\n", s->name, tried, k->count ? all : tried, refused);
    }
}

static void every_allocation(void **state) {
    (void)state;
    every(&kinds[0]);
}

static void every_sql_call(void **state) {
    (void)state;
    every(&kinds[1]);
}

static void every_access(void **state) {
    (void)state;
    every(&kinds[2]);
}

static void every_driver_call(void **state) {
    (void)state;
    every(&kinds[3]);
}

/* ---- What is there before ------------------------------------------------------------------------------ */

/* A store where the default of a template has won for two problems. */
static tt_status crown(const char *path) {
    const char *kernel = "transpose_tiled";
    tt__store *s;
    tt__template_set all;
    tt__gpu gpu;
    tt__env env = {.nvrtc = "13.0", .library = TT__METHOD};
    int64_t gpu_id, run, problem_id, config;
    TT_TRY(tt__template_set_open(&all, NULL, 0));
    const tt__template *t = tt__template_set_find(&all, kernel);
    tt__driver_version(env.driver, sizeof env.driver);
    TT_TRY(tt__device_current(&gpu));
    TT_TRY(tt__store_open(&s, path, TT__STORE_READ_WRITE));
    TT_TRY(tt__store_gpu(s, &gpu, &gpu_id));
    TT_TRY(tt__store_run_begin(s, gpu_id, &env, "measured", &run));
    TT_TRY(tt__store_config(s, kernel, t->op, t->hash, t->default_config, &config));
    for (rows = ROWS / 2; rows <= ROWS; rows += ROWS / 2) {
        const tt__problem p = matrix_for("transpose", problem());
        TT_TRY(tt__store_problem(s, &p, &problem_id));
        TT_TRY(tt__store_winner_put(s, run, problem_id, config, &(tt__winner){.time_us = 2}));
    }
    tt__store_close(&s);
    tt__template_set_close(&all);
    return TT_OK;
}

static int enter(void **state) {
    (void)state;
    tt_ctx *ctx;
    device_symbol(&fail_driver_call, "hostcuda_fail_call");
    if (!mkdtemp(folder))
        return -1;
    snprintf(stored, sizeof stored, "%s/stored.db", folder);
    snprintf(bare, sizeof bare, "%s/bare.db", folder);
    snprintf(fresh, sizeof fresh, "%s/fresh.db", folder);
    setenv("TILETUNE_WORKER", "/nonexistent", 1);
    for (size_t i = 0; i < BYTES; i++)
        host[0][i] = (unsigned char)(i * 2654435761u >> 13);
    CU_OK(cu->cuMemAlloc(&src, BYTES));
    CU_OK(cu->cuMemAlloc(&dst, BYTES));
    CU_OK(cu->cuMemcpyHtoD(src, host[0], BYTES));
    OK(crown(bare));
    make(stored, bare);
    OK(open_it(&ctx, stored, 0, false));
    OK(transpose(ctx)); /* stores the cubins */
    rows = ROWS;
    OK(plan(ctx));
    tt_close(&ctx);
    assert_true(is_transposed());
    return 0;
}

static int leave(void **state) {
    (void)state;
    char line[128];
    snprintf(line, sizeof line, "rm -rf '%s'", folder);
    return system(line);
}

/* This program again, so many times. */
static int run_shares(const char *path) {
    pid_t pids[PROCESSES_MAX];
    int failed = 0;
    for (long i = 0; i < shares; i++) {
        char number[32];
        snprintf(number, sizeof number, "%ld", i);
        if ((pids[i] = fork()) == 0) {
            execl(path, path, number, (char *)NULL);
            _exit(127);
        }
    }
    for (long i = 0; i < shares; i++) {
        int status = -1;
        failed += pids[i] < 0 || waitpid(pids[i], &status, 0) < 0 || status != 0;
    }
    fprintf(stderr, "%d of %ld processes failed\n", failed, shares);
    return failed > 0;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation), cmocka_unit_test(every_sql_call),
                                       cmocka_unit_test(every_access), cmocka_unit_test(every_driver_call)};
    const char *every_one = getenv("NTH_EVERY");
    if (every_one)
        shares = strtol(every_one, NULL, 10);
    if (shares < 1 || shares > PROCESSES_MAX) {
        fprintf(stderr, "NTH_EVERY is %s, expected 1 to %d processes\n", every_one, PROCESSES_MAX);
        return 1;
    }
    if (shares > 1 && argc == 1)
        return run_shares("/proc/self/exe");
    if (argc == 2)
        share = strtol(argv[1], NULL, 10);
    if (!sql_hook() || !device_open())
        return 1;
    return cmocka_run_group_tests(tests, enter, leave);
}
