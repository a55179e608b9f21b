/*
 * Copies the content of one store into another, for `tune merge`, `tune import` and `tune export` to a
 * database. Everything is checked. Content that both have is there once afterwards, so that merging a file
 * again changes nothing.
 */
#ifndef TT_DB_EXCHANGE_MERGE_H
#define TT_DB_EXCHANGE_MERGE_H

#include "db/store.h"

typedef struct tt__merge_opts {
    int64_t gpu_id; /* id in the source store; 0: all GPUs */
    bool locked; /* only winners, the trials and energies of their configurations, their cubins, and rules */
    const char *problem_ids; /* of those that are locked, without rules, as a JSON array; NULL: all */
    bool trusted; /* also copy cubins, which are code, and keep "measured" as it is; otherwise it becomes
                     "imported" */
} tt__merge_opts;

typedef struct tt__merged {
    int64_t runs, trials, cubins; /* new ones */
    int64_t winners;              /* winners that are new, or better than the ones before */
    int64_t kept;                 /* winners that stay because they are as good or better */
    int64_t rules;                /* that were there; the newest stays */
} tt__merged;

/*
 * Copies `from` into `to`, and adds to `report`. If both have a winner for a GPU and problem, the better
 * evidence stays. These decide, in order:
 *
 * - measured is better than imported, and imported better than replayed,
 * - the newer measuring method,
 * - the newer driver, then the newer NVRTC,
 * - more trials,
 * - the newer winner, then the faster one.
 *
 * The winners do not depend on the order of merges.
 *
 * Call it between tt__store_begin and tt__store_commit of `to`, so that any number of merges are one
 * transaction. On failure, close `to` without committing. TT_E_INVALID names the file, the row and the wrong
 * value.
 */
tt_status tt__store_merge(tt__store *to, tt__store *from, const tt__merge_opts *opts, tt__merged *report);

#endif
