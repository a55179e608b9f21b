/* Counts launches with CUPTI, in the GPU worker. */
#ifndef TT_TUNER_WORKER_COUNTING_H
#define TT_TUNER_WORKER_COUNTING_H

#include "gpu/cupti.h"
#include "tuner/measure/counters.h"
#include "tuner/measure/measure.h"

/* Zero-initialise, then set `ordinal`. It needs no closing: the worker's exit does that. */
typedef struct tt__counting {
    int ordinal;
    tt__cupti *cupti;         /* NULL: not opened yet, or not to be had */
    char why[TT__REASON_MAX]; /* why it is not to be had, or "" */
} tt__counting;

/* Counts one launch of a loaded kernel. Without counters the rest of `out` is filled in, and `why` of it.
 * TT_E_CUDA: the context is lost. */
tt_status tt__count_launch(tt__counted *out, tt__counting *c, tt__bench_pool *pool, const tt__timed *thing);

#endif
