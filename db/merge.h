/*
 * Taking one store's content over into another: `tune merge`, `tune import` and `tune export` to a database.
 * Everything is checked on the way; what is in both is there once afterwards, so that a second merge of the
 * same file changes nothing.
 */
#ifndef TT_DB_MERGE_H
#define TT_DB_MERGE_H

#include "db/store.h"

typedef struct tt__merge_opts {
    int64_t gpu_id; /* in the store that is taken from; 0: all GPUs */
    bool trusted;   /* take cubins too, which are code, and take "measured" for what it says: else it is
                       "imported" */
} tt__merge_opts;

typedef struct tt__merged {
    int64_t runs, trials, cubins; /* new ones */
    int64_t winners;              /* new ones, or better ones than there were */
    int64_t kept;                 /* winners that were as good as those that came, or better */
} tt__merged;

/*
 * Adds to `report`. Between two winners of one GPU and problem the better evidence stays: measured before
 * imported before replayed, then the newer way of measuring, then, under one driver and NVRTC, the one that
 * more configurations were tried for, then the newer one.
 *
 * Writes inside the caller's tt__store_begin of `to`, so that any number of merges are one: on failure the
 * caller closes `to` without committing. TT_E_INVALID names the file, the row and the value that is wrong.
 */
tt_status tt__store_merge(tt__store *to, tt__store *from, const tt__merge_opts *opts, tt__merged *report);

#endif
