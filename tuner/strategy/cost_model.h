/*
 * Predicts configurations before they run: how they move bytes, and what that costs. The costs order the
 * first trials of a search. Distances between configurations tell the surrogate how much a trial says about
 * others. If the operation declares `moves`, tiles are found by asking the template for its grid with one
 * row. Some parameters have conventional names (V, VL, VS, VEC, STREAM, KEEP).
 */
#ifndef TT_TUNER_STRATEGY_COST_MODEL_H
#define TT_TUNER_STRATEGY_COST_MODEL_H

#include "kernel/space/space.h"

/* How a launch moves a matrix. Unknown values are 0. */
typedef struct tt__geometry {
    double read_run, write_run; /* contiguous bytes that a block reads, writes */
    double thread_bytes;        /* bytes that each thread reads */
    double threads;             /* per block */
    double blocks;
    double shared_bytes;
    double read_access, write_access; /* bytes of one access */
    int down;      /* consecutive blocks go 1 down a column of the source, -1 along a row, 0 unknown */
    bool unpadded; /* other configurations of the template use more shared memory for the same tile */
    bool streams;  /* stores have a streaming hint */
    bool keeps;    /* loads have a hint to stay in the cache */
} tt__geometry;

/* The reasons why a launch is slow. Each has its own unit (see cost_model.c). */
enum {
    TT__COST_READ_RUN,
    TT__COST_WRITE_RUN,
    TT__COST_FEW_BLOCKS,
    TT__COST_IDLE_SMS,
    TT__COST_LITTLE_WORK,
    TT__COST_MANY_LOADS,
    TT__COST_ACCESSES,
    TT__COST_BLOCK_SIZE,
    TT__COST_CONFLICTS,
    TT__COST_ORDER,
    TT__COST_CACHE_HINT,
    TT__COSTS
};

/* A configuration has coordinates. The distance of two configurations says how much a trial of one tells
 * about the other. */
enum { TT__COORD_KERNEL = 0, TT__COORDS_MAX = 48 };

typedef struct tt__cost_model {
    size_t n;               /* size of the space */
    tt__geometry *geometry; /* by index in the space, as the next two */
    double (*costs)[TT__COSTS];
    double *log_time; /* predicted, up to a constant that all configurations share */
    size_t n_coords;
    float (*coords)[TT__COORDS_MAX]; /* a distance of 1 is a doubling, a step or another word; NAN: it has no
                                        such coordinate */
    bool words[TT__COORDS_MAX];      /* words have no order: they are equal or different */
    bool counts[TT__COORDS_MAX];     /* log2(VALUE) + 1 of a number */
} tt__cost_model;

/* `weights` are TT__COSTS; NULL: tt__cost_weights. Close it with tt__cost_model_close, also after a
 * failure. */
tt_status tt__cost_model_open(tt__cost_model *m, const tt__space *space, const tt__gpu *gpu,
                              const tt__problem *p, const double *weights);
void tt__cost_model_close(tt__cost_model *m);

extern const double tt__cost_weights[TT__COSTS];
extern const char *const tt__cost_names[TT__COSTS];

#endif
