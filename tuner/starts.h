/*
 * Where a search may start: what did well elsewhere. That is a stale winner of the same problem, the winners
 * of other sizes and of other GPUs, and the fastest trials that stood behind them.
 *
 * Only earlier runs count, so that what a run finds for one problem does not depend on the others it has.
 */
#ifndef TT_TUNER_STARTS_H
#define TT_TUNER_STARTS_H

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

enum { TT__STARTS_MAX = 16 };

typedef struct tt__starts {
    size_t n;
    size_t at[TT__STARTS_MAX]; /* members of the space, each once, the most promising first */
} tt__starts;

/* Starts for a problem of the GPU `gpu_id`; `run_id` is the run that asks. */
tt_status tt__starts_find(tt__starts *out, tt__store *store, const tt__winners *elsewhere, const tt__gpu *gpu,
                          int64_t gpu_id, int64_t run_id, const tt__problem *p, const tt__space *space);

#endif
