/*
 * From opening a store to closing it, the n-th allocation fails (the library's or SQLite's), and then the
 * n-th call into the driver, for every n that there is: each time the right status and a sentence, nothing
 * leaks, and the next try works. On the CPU stand-in, which counts what is alive; under AddressSanitizer more
 * is seen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "device/alloc.h"
#include "device/device.h"

/* There are thousands of allocations: so many of them fail, or all if $NTH_EVERY is set. */
enum { ROWS = 40, COLS = 56, BYTES = ROWS * COLS * 4, TRIES = 120 };

static char folder[] = "/tmp/tiletune-nth-XXXXXX", stored[64];
static CUdeviceptr src, dst;
static unsigned char host[2][BYTES];
static tt_choice chosen; /* by what was tried last, if it chose */
static int (*fail_call)(long n); /* is the last one still to come? */

/* ---- SQLite's allocations
 * ---------------------------------------------------------------------------------- */

static sqlite3_mem_methods own;

/* alloc.c counts what malloc gives; a block of SQLite's stands for it. */
static void *sqlite_malloc(int n) {
    void *token = malloc(1);
    free(token);
    return token ? own.xMalloc(n) : NULL;
}

static void *sqlite_realloc(void *p, int n) {
    void *token = malloc(1);
    free(token);
    return token ? own.xRealloc(p, n) : NULL;
}

static bool hook_sqlite(void) {
    sqlite3_mem_methods hooked;
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &own) != SQLITE_OK)
        return false;
    hooked = own;
    hooked.xMalloc = sqlite_malloc;
    hooked.xRealloc = sqlite_realloc;
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &hooked) == SQLITE_OK;
}

/* ---- What is tried ----------------------------------------------------------------------------------------
 */

static tt_status open_it(tt_ctx **ctx, const char *db, double budget_s, bool read_only) {
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = db;
    opts.tune_budget_s = budget_s;
    opts.read_only = read_only;
    return tt_open(ctx, &opts);
}

static tt_problem problem(void) {
    tt_problem p = TT_INIT(tt_problem);
    p.rows = ROWS;
    p.cols = COLS;
    return p;
}

static tt_status open_and_close(tt_ctx *unused) {
    tt_ctx *ctx;
    (void)unused;
    tt_status status = open_it(&ctx, stored, 0, false);
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
    for (int i = 0; i < 20; i++) { /* four plans under more keys than the first table of the cache holds */
        int way = i / 4;
        p.rows = ROWS - i % 4;
        p.lds = way == 1 ? COLS : 0;
        p.elem_size = way == 2 ? 4 : 0;
        p.batch = way == 3 ? 1 : 0;
        p.align = way == 4 ? 16 : 0;
        TT_TRY(tt_transpose(ctx, &p, dst, src, NULL));
    }
    return TT_OK;
}

static const struct scenario {
    const char *name, *db; /* NULL: that of the winner whose cubin is stored */
    tt_status (*run)(tt_ctx *ctx);
    double budget_s;
    bool read_only;
} scenarios[] = {
    {"open and close", NULL, open_and_close, 0, false},
    {"best", NULL, best, 0, false},
    {"plan, stored", NULL, plan, 0, false},
    {"plan, stored, read-only", NULL, plan, 0, true},
    {"plan, compiled", ":memory:", plan, 0, false},
    {"plan, tuned on first use, without a worker", ":memory:", plan, 5, false},
    {"transpose", NULL, transpose, 0, false},
};

/* ---- Failing
 * ------------------------------------------------------------------------------------------------
 */

static bool is_transposed(void) {
    CU_OK(cu->cuCtxSynchronize());
    CU_OK(cu->cuMemcpyDtoH(host[1], dst, BYTES));
    return transposed(host[1], host[0], ROWS, COLS, COLS, ROWS, 4);
}

typedef struct outcome {
    bool failed_at_all; /* or there are no n allocations, calls */
    long allocations;
    tt_status status;
} outcome;

static outcome try(const struct scenario *s, bool driver, long n) {
    tt_ctx *ctx;
    outcome o;
    long live = alloc_live(), objects = device_objects();
    OK(open_it(&ctx, s->db ? s->db : stored, s->budget_s, s->read_only));
    long before = alloc_count();
    if (driver)
        fail_call(n);
    else
        alloc_fail(n);
    o.status = s->run(ctx);
    o.allocations = alloc_count() - before;
    o.failed_at_all = n > 0 && (driver ? !fail_call(0) : o.allocations >= n);
    alloc_fail(0);
    tt_close(&ctx);
    /* A plan that works, and an object that is left: the call that failed was to unload it. */
    bool not_unloaded = driver && o.status == TT_OK && device_objects() == objects + 1;
    if (alloc_live() != live || (device_objects() != objects && !not_unloaded))
        fail_msg("%s: %s %ld: %ld allocations and %ld objects of the driver are left", s->name,
                 driver ? "driver call" : "allocation", n, alloc_live() - live, device_objects() - objects);
    return o;
}

static void every(bool driver) {
    const tt_status expected = driver ? TT_E_CUDA : TT_E_NO_MEMORY;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        const struct scenario *s = &scenarios[i];
        long n = 1, refused = 0, tried = 0, all = try(s, driver, 0).allocations;
        const tt_choice usual = chosen;
        long step = driver || getenv("NTH_EVERY") ? 1 : all / TRIES + 1;
        for (outcome o = {.failed_at_all = true}; o.failed_at_all; n += step, tried++) {
            o = try(s, driver, n);
            refused += o.status != TT_OK;
            if (o.status != TT_OK && (o.status != expected || !*tt_last_error() || !o.failed_at_all))
                fail_msg("%s: %s %ld failed: %s: %s", s->name, driver ? "driver call" : "allocation", n,
                         tt_strerror(o.status), tt_last_error());
            if (o.status == TT_OK && strcmp(chosen.config, usual.config) != 0)
                fail_msg("%s: %s %ld failed, and %s %s was chosen in place of %s %s", s->name,
                         driver ? "driver call" : "allocation", n, chosen.kernel, chosen.config, usual.kernel,
                         usual.config);
        }
        assert_int_equal(try(s, driver, 0).status, TT_OK);
        print_message("%s: %ld of %ld tried, %ld refused\n", s->name, tried, driver ? tried : all, refused);
    }
}

static void every_allocation(void **state) {
    (void)state;
    every(false);
}

static void every_driver_call(void **state) {
    (void)state;
    every(true);
}

static int enter(void **state) {
    (void)state;
    tt_ctx *ctx;
    device_symbol(&fail_call, "hostcuda_fail_call");
    if (!mkdtemp(folder))
        return -1;
    snprintf(stored, sizeof stored, "%s/stored.db", folder);
    setenv("TILETUNE_WORKER", "/nonexistent", 1);
    for (size_t i = 0; i < BYTES; i++)
        host[0][i] = (unsigned char)(i * 2654435761u >> 13);
    CU_OK(cu->cuMemAlloc(&src, BYTES));
    CU_OK(cu->cuMemAlloc(&dst, BYTES));
    CU_OK(cu->cuMemcpyHtoD(src, host[0], BYTES));
    OK(open_it(&ctx, stored, 0, false));
    OK(plan(ctx)); /* stores the cubin */
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation),
                                       cmocka_unit_test(every_driver_call)};
    if (!hook_sqlite() || !device_open())
        return 1;
    return cmocka_run_group_tests(tests, enter, leave);
}
