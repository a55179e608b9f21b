/*
 * What was measured near a problem, in all layers: the winners that may answer for it, by what is needed to
 * rank them. The ladder (best.c) says which of them does.
 */
#ifndef TT_DISPATCH_NEAR_H
#define TT_DISPATCH_NEAR_H

#include "dispatch/layers.h"

/* Who asks, and what for. */
typedef struct tt__asked {
    tt_ctx *ctx;
    const tt__gpu *gpu;
    const tt__problem *problem;
    const tt__operation *op;          /* of the problem */
    int64_t gpu_ids[TT__LAYER_COUNT]; /* of `gpu`; -1: unknown there */
} tt__asked;

typedef struct tt__lead {
    double distance; /* tt__operation_distance, and what another GPU or regime adds */
    tt__layer layer;
    bool here;                  /* measured on this GPU */
    int64_t gpu_id, problem_id; /* in its store; of what is shipped, problem_id is its place */
} tt__lead;

typedef struct tt__leads {
    size_t n;
    tt__lead *items; /* nearest first, in the same order each time */
} tt__leads;

/* The winners of the operation that may be within this distance. With `anything` also those of other
 * architectures and regimes, and those that differ in what has to be the same (tt__variable). Release with
 * tt__near_free, whatever is returned. */
tt_status tt__near_collect(tt__leads *out, const tt__asked *asked, bool anything, double within);
void tt__near_free(tt__leads *leads);

/* The winner of a lead. Not found: it has gone meanwhile. */
tt_status tt__near_fetch(const tt__asked *asked, const tt__lead *lead, tt__winner *w, bool *found);

#endif
