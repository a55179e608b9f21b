/*
 * tt_tune with a call-back for each problem that has a winner.
 */
#ifndef TT_API_TUNE_H
#define TT_API_TUNE_H

#include "tuner/tune.h"

tt_status tt__tune_and(tt_report **out, tt_ctx *ctx, const tt_problem *problems, size_t n,
                       const tt_tune_opts *opts, tt__after_fn after, void *user);
/* The same without a search. Problems without a valid winner in the store have none in the report. */
tt_status tt__stored_and(tt_report **out, tt_ctx *ctx, const tt_problem *problems, size_t n,
                         const tt_tune_opts *opts, tt__after_fn after, void *user);

#endif
