/*
 * What a search knows before its first trial. Starting points are the stale winner of the same problem,
 * winners of other sizes and GPUs, and the fastest trials of their problems. Without a cost model, all their
 * trials are priors. Only earlier runs are used, so that a result does not depend on other problems of the
 * run.
 */
#ifndef TT_TUNER_SEARCH_WARM_STARTS_H
#define TT_TUNER_SEARCH_WARM_STARTS_H

#include "db/store.h"
#include "kernel/space/space.h"
#include "tuner/session/session.h"
#include "tuner/strategy/priors.h"

enum { TT__WARM_STARTS_MAX = 16 };

typedef struct tt__warm_starts {
    size_t n;
    size_t at[TT__WARM_STARTS_MAX]; /* indices in the space without repetition, most promising first */
} tt__warm_starts;

/* Where a run looks; all borrowed. */
typedef struct tt__elsewhere {
    tt__store *store;
    const tt__winners *winners;
    const tt__gpu *gpu; /* of the run, as the rest */
    const tt__env *env;
    int64_t gpu_id, run_id;
} tt__elsewhere;

/* Finds starts and priors for a problem. A winner of another GPU is no start if its trials are a prior. Free
 * the priors also after a failure. */
tt_status tt__warm_starts_find(tt__warm_starts *out, tt__priors *priors, const tt__elsewhere *from,
                               const tt__problem *p, const tt__space *space, const tt__cost_model *m);

#endif
