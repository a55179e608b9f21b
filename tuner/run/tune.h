/*
 * One run: for each problem the copy, the search, the finals and the winner. Trials are stored when they end,
 * so that a killed run can be continued.
 */
#ifndef TT_TUNER_RUN_TUNE_H
#define TT_TUNER_RUN_TUNE_H

#include "base/model.h"
#include "kernel/model/template.h"
#include "tiletune.h"
#include "tuner/farm/workers.h"
#include "tuner/run/run_loop.h"
#include "tuner/session/session.h"

/* `question` may be NULL. *out is freed with free. */
tt_status tt__tune(tt_report **out, tt_ctx *ctx, const tt__tune_call *call, const tt__tune_question *question,
                   const tt_tune_opts *opts);

/* Fails with TT_E_INVALID if tuning the problem can never fit the GPU's memory: its buffers, and the copies
 * to verify and measure with. */
tt_status tt__tune_fits(const tt__template *t, const tt__gpu *gpu, const tt__problem *p);

/* Of a budget (0: there is none), what the problem gets that is worth most; of the budget of one kind of GPU.
 */
double tt__most_of_budget_s(double budget_s, const tt__tune_call *call);

/* A time limit: as asked for, or the usual one. One configuration that hangs must not use up its problem's
 * budget, so it has a share of that at most, but least_s. */
double tt__timeout_s(double budget_s, double asked_s, double usual_s, double least_s, double share);

enum { TT__KINDS_MAX = 8 };

/* Devices whose results are exact for each other. */
typedef struct tt__devices {
    size_t n_kinds;
    struct {
        tt__gpu gpu; /* empty if there is only one kind: a worker describes it */
        int ordinals[TT__GPUS_MAX];
        size_t n;
    } kinds[TT__KINDS_MAX];
} tt__devices;

/* The devices of the options. One that cannot be used is left out with a message, if others can. */
tt_status tt__devices_of(tt__devices *out, const tt_tune_opts *opts);

/* ---- Neighbouring sizes ---- */

/* Is a user's kernel right for other sizes, too? A winner is verified for a neighbouring problem, and
 * look-ups serve it only for sizes that this has covered (dispatch/ladder.c). */

/* How many neighbours a problem of so many variables has. */
size_t tt__neighbours(const tt__problem *p);
/* The k-th neighbour: with 1 more of each number, so that no tile fits; with a tile more of each; then the
 * same of single numbers. False: the operation forbids it, or it is none. */
bool tt__neighbour(tt__problem *out, const tt__template *t, const tt__problem *p, size_t k);

/* Tries n configurations for it, while nothing else is under way in the current lane. What cannot begin until
 * end_s (tt__now_s) is skipped. A failure is one of the reference, or TT_E_INTERRUPTED. */
tt_status tt__neighbour_try(tt__session *s, const tt__problem *near, const tt__configuration *c, size_t n,
                            double end_s, tt__trial *trials);

#endif
