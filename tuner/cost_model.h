/* What is known of a configuration before it has run: how it moves bytes, and what that should cost. The
 * cost orders a search's first trials; distances between configurations tell the surrogate which trials
 * speak for which configurations. Tiles are found by asking a template for its
 * grid with one row, in operations that say `moves`. Parameters have conventional names (V, VL, VS, VEC,
 * STREAM, KEEP). */
#ifndef TT_TUNER_COST_MODEL_H
#define TT_TUNER_COST_MODEL_H

#include "tuner/points.h"

/* How a launch moves a matrix. What could not be found out is 0. */
typedef struct tt__geometry {
    double read_run, write_run; /* bytes in a row that a block reads, writes */
    double thread_bytes;        /* that each thread reads */
    double threads;             /* of a block */
    double blocks;
    double shared_bytes;
    double read_access, write_access; /* bytes of one access */
    int down; /* blocks that follow each other: 1 down a column of the source, -1 along a row, 0 unknown */
    bool unpadded; /* others of its template take more shared memory for the same tile */
    bool streams;  /* stores ask not to stay in the cache */
    bool keeps;    /* loads ask to stay in it for a while */
} tt__geometry;

/* What makes a launch slower than it could be, each counted in a unit of its own (cost_model.c says which).
 */
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

/* Where a configuration stands: how far apart two are says how much one's trial tells of the other. */
enum { TT__COORD_KERNEL = 0, TT__COORDS_MAX = 40 };

typedef struct tt__cost_model {
    size_t n;               /* of the space */
    tt__geometry *geometry; /* by index of the space, like the next two */
    double (*costs)[TT__COSTS];
    double *log_time; /* predicted, up to a constant that all share */
    size_t n_coords;
    float (*coords)[TT__COORDS_MAX]; /* a doubling, a step or another word is 1; NAN: has no such thing */
    bool words[TT__COORDS_MAX];      /* of this coordinate only same and different count */
} tt__cost_model;

/* `weights` are TT__COSTS; NULL: tt__cost_weights. Release with tt__cost_model_close, also on failure. */
tt_status tt__cost_model_open(tt__cost_model *m, const tt__space *space, const tt__gpu *gpu,
                              const tt__problem *p, const tt__points *points, const double *weights);
void tt__cost_model_close(tt__cost_model *m);

extern const double tt__cost_weights[TT__COSTS];
extern const char *const tt__cost_names[TT__COSTS];

#endif
