/*
 * One run: for each problem the copy, the search, the finals and the winner. Trials are stored when they end,
 * so that a killed run can be continued.
 */
#ifndef TT_TUNER_RUN_TUNE_H
#define TT_TUNER_RUN_TUNE_H

#include "kernel/load/set.h"
#include "tuner/search/search.h"

/* Fills in the parts of a result that are known before any trial. */
void tt__tune_begin_result(const tt__session *s, const tt__problem *p, tt_result *result);
/* Are finals needed after the searches? If not, the result has the stored winner, or says why there is
 * none. */
tt_status tt__tune_needs_finals(tt__session *s, const tt__search *search, tt_result *result, bool *needed);
/* Beside a winner: tells the caller which default failed, and the most frequent reason of all failures. */
tt_status tt__tune_say_failures(const tt__session *s, const tt__search *search, tt_result *result);

/* *out is freed with free. */
tt_status tt__tune(tt_report **out, tt_ctx *ctx, const tt__tune_call *call, const tt_tune_opts *opts);

#endif
