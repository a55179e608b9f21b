/*
 * The study: the ladder from the naive transpose to the tuned one, with all rungs measured in common rounds.
 * The rungs between are templates of the operation TT__LADDER_OP. They are verified and measured like any
 * other.
 */
#ifndef TT_TUNER_CLI_COMMANDS_STUDY_H
#define TT_TUNER_CLI_COMMANDS_STUDY_H

#include "base/model.h"

#define TT__LADDER_OP "transpose_ladder"

typedef enum tt__rung_id { /* in the order of the ladder */
                           TT__RUNG_COPY = 0,
                           TT__RUNG_NAIVE_READ,
                           TT__RUNG_NAIVE_WRITE,
                           TT__RUNG_UNROLLED,
                           TT__RUNG_VECTOR_STORE,
                           TT__RUNG_TILE_LOAD,
                           TT__RUNG_TILE_STORE,
                           TT__RUNG_PADDED,
                           TT__RUNG_TILES,
                           TT__RUNG_WINNER,
                           TT__RUNG_TUNED_COPY,
                           TT__RUNGS
} tt__rung_id;

typedef struct tt__rung {
    char kernel[TT__NAME_MAX]; /* "": none of its configurations is legal, or the problem has no winner */
    char config[TT__CONFIG_MAX];
    tt__trial trial;      /* from the rounds, or from screening if there were none; or why it failed */
    int threads;          /* per block */
    int shared_bytes;     /* per block, static and dynamic */
    double gbps;          /* from here on 0 means unknown */
    double speedup;       /* over TT__RUNG_NAIVE_READ */
    double copy_fraction; /* of TT__RUNG_TUNED_COPY */
    double peak_fraction; /* fraction of the memory's theoretical rate */
    double occupancy;     /* theoretical */
} tt__rung;

typedef struct tt__ladder {
    tt__problem problem; /* op is "" if it was not studied: tuning failed, or the run was interrupted */
    tt__rung rungs[TT__RUNGS];
} tt__ladder;

typedef struct tt__rung_info {
    const char *name, *title;    /* "naive_read" for programs; "naive, coalesced reads" for people */
    const char *kernel, *config; /* NULL: not from the ladder's operation */
} tt__rung_info;
extern const tt__rung_info tt__rungs[TT__RUNGS];

/* Tunes each problem as tt_tune does (a valid stored winner takes no time) and studies it. `ladders` has
 * n_problems members, which are zeroed first. Status and report are those of tt_tune. TT_E_INVALID also means
 * that a recording has no ladder for a problem. */
tt_status tt__study_run(tt_report **out, tt__ladder *ladders, tt_ctx *ctx, const tt_problem *problems,
                        size_t n_problems, const tt_tune_opts *opts);

#endif
