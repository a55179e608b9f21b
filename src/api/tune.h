/*
 * tt_tune with more of a call: `how` has the members that the caller decides. Problems and templates are
 * filled in here.
 */
#ifndef TT_API_TUNE_H
#define TT_API_TUNE_H

#include "tuner/run/tune.h"

tt_status tt__tune_and(tt_report **out, tt_ctx *ctx, const tt_problem *problems, size_t n,
                       const tt_tune_opts *opts, const tt__tune_call *how, const tt__tune_question *question);

#endif
