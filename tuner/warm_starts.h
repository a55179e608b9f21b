/*
 * Starting points of a search: the stale winner of the same problem, winners of other sizes and GPUs, and the
 * fastest trials of their problems. Only earlier runs are used, so that a result does not depend on other
 * problems of the run.
 */
#ifndef TT_TUNER_WARM_STARTS_H
#define TT_TUNER_WARM_STARTS_H

#include "db/store.h"
#include "template/template.h"

/* The winners in the store when a run begins. */
typedef struct tt__winners {
    size_t n;
    tt__winner *items;
} tt__winners;

/* Free with tt__winners_free, also after a failure. */
tt_status tt__winners_load(tt__winners *out, tt__store *store);
void tt__winners_free(tt__winners *w);

enum { TT__WARM_STARTS_MAX = 16 };

typedef struct tt__warm_starts {
    size_t n;
    size_t at[TT__WARM_STARTS_MAX]; /* indices in the space without repetition, most promising first */
} tt__warm_starts;

/* Finds starts for a problem on the GPU `gpu_id`. `run_id` is the current run. */
tt_status tt__warm_starts_find(tt__warm_starts *out, tt__store *store, const tt__winners *elsewhere,
                               const tt__gpu *gpu, int64_t gpu_id, int64_t run_id, const tt__problem *p,
                               const tt__space *space);

#endif
