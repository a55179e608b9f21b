/*
 * The library that only looks up and launches: it has no search, no workers, and stores no trials.
 */
#include "api/problem.h"

#include "tiletune.h"

const tt__tune_fn tt__tuner = NULL;

tt_status tt_tune(tt_report **out, tt_ctx *ctx, const tt_problem *problems, size_t n_problems,
                  const tt_tune_opts *opts) {
    (void)ctx, (void)problems, (void)n_problems, (void)opts;
    if (!out)
        return tt__fail(TT_E_INVALID, "tt_tune: out is NULL");
    *out = NULL;
    return tt__fail(TT_E_UNSUPPORTED, "libtiletune-launch has no tuner: link libtiletune");
}

/* For programs built with 0.1, as in api/tune.c. */
TT_API tt_status tt_kernel_tune(tt_report **out, tt_kernel *kernel, const char *const *values, size_t n,
                                const tt_tune_opts *opts);
tt_status tt_kernel_tune(tt_report **out, tt_kernel *kernel, const char *const *values, size_t n,
                         const tt_tune_opts *opts) {
    (void)kernel, (void)values;
    return tt_tune(out, NULL, NULL, n, opts);
}
