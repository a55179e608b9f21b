/*
 * What callers hold and free: contexts and reports. `tt__tuner` is the tuner of the library: api/tune.c
 * defines it, and api/no_tuner.c sets it to NULL in the library that only looks up and launches.
 */
#include "dispatch/context.h"

#include <stdlib.h>

#include "api/sized.h"
#include "api/tuner.h"

tt_status tt_open(tt_ctx **out, const tt_open_opts *opts) {
    tt_open_opts all;
    if (!out)
        return tt__fail(TT_E_INVALID, "tt_open: out is NULL");
    *out = NULL;
    TT_TRY(TT__SIZED_IN(&all, opts, 1, tt_open_opts));
    return tt__context_open(out, &all, tt__tuner);
}

void tt_close(tt_ctx **ctx) {
    if (!ctx || !*ctx)
        return;
    tt__context_close(*ctx);
    *ctx = NULL;
}

void tt_report_free(tt_report **report) {
    if (!report)
        return;
    free(*report);
    *report = NULL;
}

const tt_result *tt_report_result(const tt_report *report, size_t i) {
    return report && i < report->n_results ? &report->results[i] : NULL;
}
