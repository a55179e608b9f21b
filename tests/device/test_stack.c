/*
 * A program whose threads have a stack of 64 KB. The driver, NVRTC and SQLite run on it, too.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "device.h"

enum { STACK_BYTES = 64 << 10, SIZE = 64, BYTES = SIZE * SIZE * 4 };

static CUcontext primary;

static tt_status all(void) {
    tt_open_opts opts = TT_INIT(tt_open_opts);
    tt_tune_opts tune = TT_INIT(tt_tune_opts);
    tt_choice choice = TT_INIT(tt_choice);
    tt_problem p = TT_INIT(tt_problem);
    tt_ctx *ctx = NULL;
    tt_plan *plan = NULL;
    tt_report *report = NULL;
    CUdeviceptr from = 0, to = 0;
    opts.db_path = ":memory:";
    p.rows = p.cols = SIZE;
    tune.effort = TT_EFFORT_QUICK;
    tune.max_trials = 3;
    tune.jobs = 1;
    tt_status status = tt__cu_check(cu->cuCtxSetCurrent(primary), "cuCtxSetCurrent");
    if (status == TT_OK)
        status = tt_open(&ctx, &opts);
    if (status == TT_OK)
        status = tt_best(&choice, ctx, &p);
    if (status == TT_OK)
        status = tt_plan_create(&plan, ctx, &p);
    if (status == TT_OK)
        status = tt__cu_check(cu->cuMemAlloc(&from, BYTES), "cuMemAlloc");
    if (status == TT_OK)
        status = tt__cu_check(cu->cuMemAlloc(&to, BYTES), "cuMemAlloc");
    if (status == TT_OK)
        status = tt_plan_launch(plan, to, from, NULL);
    if (status == TT_OK)
        status = tt_transpose(ctx, &p, to, from, NULL);
    if (status == TT_OK)
        status = tt_tune(&report, ctx, &p, 1, &tune);
    if (status == TT_OK)
        status = tt_best(&choice, ctx, &p);
    if (status == TT_OK && choice.match != TT_MATCH_EXACT)
        status = TT_E_INTERNAL;
    tt_report_free(&report);
    tt_plan_free(&plan);
    tt_close(&ctx);
    cu->cuMemFree(from);
    cu->cuMemFree(to);
    if (status != TT_OK)
        fprintf(stderr, "%s: %s\n", tt_strerror(status), tt_last_error());
    return status;
}

static void *run(void *out) {
    *(tt_status *)out = all();
    return NULL;
}

static void test_small_stack(void **state) {
    (void)state;
    pthread_t thread;
    pthread_attr_t attr;
    tt_status status = TT_E_INTERNAL;
    CU_OK(cu->cuCtxGetCurrent(&primary));
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, STACK_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attr, run, &status), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    assert_int_equal(status, TT_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_stack),
    };
    return device_open() ? cmocka_run_group_tests(tests, NULL, NULL) : device_missing();
}
