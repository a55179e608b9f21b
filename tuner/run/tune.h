/*
 * One run: for each problem the copy, the search, the finals and the winner. Trials are stored when they end,
 * so that a killed run can be continued.
 */
#ifndef TT_TUNER_RUN_TUNE_H
#define TT_TUNER_RUN_TUNE_H

#include "tuner/search/search.h"

/* Asked for each problem that has a winner, while its searches are still open. */
typedef struct tt__tune_question {
    tt_status (*ask)(void *user, tt__session *s, tt__search *copy, const tt__search *search,
                     const tt_result *winner);
    void *user;
} tt__tune_question;

/* `question` may be NULL. *out is freed with free. */
tt_status tt__tune(tt_report **out, tt_ctx *ctx, const tt__tune_call *call, const tt__tune_question *question,
                   const tt_tune_opts *opts);

/* Fails with TT_E_INVALID if tuning the problem can never fit the GPU's memory: its buffers, and the copies to
 * verify and measure with. */
tt_status tt__tune_fits(const tt__template *t, const tt__gpu *gpu, const tt__problem *p);

#endif
