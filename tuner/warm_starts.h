/* Starting points of a search: the stale winner of the same problem, the winners of other sizes and GPUs,
 * and the fastest trials behind them. Only earlier runs count: the result for a problem must not depend on
 * the other problems of a run. */
#ifndef TT_TUNER_WARM_STARTS_H
#define TT_TUNER_WARM_STARTS_H

#include "db/store.h"
#include "template/template.h"

/* The winners that are stored when a run begins. */
typedef struct tt__winners {
    size_t n;
    tt__winner *items;
} tt__winners;

/* Release with tt__winners_free, also on failure. */
tt_status tt__winners_load(tt__winners *out, tt__store *store);
void tt__winners_free(tt__winners *w);

enum { TT__WARM_STARTS_MAX = 16 };

typedef struct tt__warm_starts {
    size_t n;
    size_t at[TT__WARM_STARTS_MAX]; /* members of the space, each once, the most promising first */
} tt__warm_starts;

/* Starts for a problem of the GPU `gpu_id`; `run_id` is the run that asks. */
tt_status tt__warm_starts_find(tt__warm_starts *out, tt__store *store, const tt__winners *elsewhere,
                               const tt__gpu *gpu, int64_t gpu_id, int64_t run_id, const tt__problem *p,
                               const tt__space *space);

#endif
