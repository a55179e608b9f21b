/*
 * Finds the winners near a problem, in all layers, with just enough data to rank them. The ladder (ladder.c)
 * chooses.
 */
#ifndef TT_DISPATCH_NEAR_H
#define TT_DISPATCH_NEAR_H

#include "dispatch/layers.h"

/* The query. */
typedef struct tt__asked {
    tt_ctx *ctx;
    const tt__gpu *gpu;
    const tt__problem *problem;
    const tt__operation *op;          /* the problem's operation */
    int64_t gpu_ids[TT__LAYER_COUNT]; /* ids of `gpu`; -1: unknown in that layer */
} tt__asked;

typedef struct tt__lead {
    double distance; /* tt__operation_distance, plus a distance for another GPU or regime */
    tt__layer layer;
    bool here;                  /* measured on this GPU */
    int64_t gpu_id, problem_id; /* in its store; for a shipped winner, problem_id is its index */
} tt__lead;

typedef struct tt__leads {
    size_t n;
    tt__lead *items; /* nearest first; the order is unique */
} tt__leads;

/* The winners of the operation that may be within this distance. `anything` includes winners of other
 * architectures and regimes, and of problems that differ in a variable declared `same`. Free with
 * tt__near_free, also after a failure. */
tt_status tt__near_collect(tt__leads *out, const tt__asked *asked, bool anything, double within);
void tt__near_free(tt__leads *leads);

/* Reads the winner of a lead. *found is false if it was deleted meanwhile. */
tt_status tt__near_fetch(const tt__asked *asked, const tt__lead *lead, tt__winner *w, bool *found);

#endif
