/* Tuning with the library that has no tuner. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tiletune.h"

/* Of version 0.1. */
tt_status tt_kernel_tune(tt_report **out, tt_kernel *kernel, const char *const *values, size_t n,
                         const tt_tune_opts *opts);

static void refused(tt_status status, tt_report **report) {
    assert_int_equal(status, TT_E_UNSUPPORTED);
    assert_string_equal(tt_last_error(), "libtiletune-launch has no tuner: link libtiletune");
    assert_null(*report);
    assert_null(tt_report_result(*report, 0));
    tt_report_free(report);
}

static void tuning_is_refused(void **state) {
    (void)state;
    static tt_report other;
    tt_report *report = &other;
    tt_ctx *ctx;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    tt_problem p = TT_INIT(tt_problem);
    opts.db_path = ":memory:";
    p.rows = p.cols = 64;
    assert_int_equal(tt_open(&ctx, &opts), TT_OK);
    refused(tt_tune(&report, ctx, &p, 1, NULL), &report);
    report = &other;
    refused(tt_kernel_tune(&report, NULL, NULL, 0, NULL), &report);
    assert_int_equal(tt_tune(NULL, ctx, &p, 1, NULL), TT_E_INVALID);
    tt_close(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tuning_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
