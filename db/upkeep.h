/*
 * `tune check`: is a store intact, for SQLite and for us? `tune prune`: deletes what is no longer useful; the
 * caller decides what that is.
 */
#ifndef TT_DB_UPKEEP_H
#define TT_DB_UPKEEP_H

#include "db/store.h"

/* `what` is valid during the call. */
typedef void (*tt__finding_fn)(void *user, const char *what);

typedef struct tt__checked {
    int64_t gpus, trials, winners, cubins; /* looked at */
    int64_t findings;
} tt__checked;

/* Reads everything: pages and indices, references, type and range of every value, and the hash of every
 * cubin. Changes nothing. `fn` is called once for each problem found. TT_OK: the store was read to the end.
 * TT_E_DB: it could not be. */
tt_status tt__store_check(tt__store *s, tt__finding_fn fn, void *user, tt__checked *out);

typedef struct tt__pruned {
    int64_t winners, trials, runs, cubins;
} tt__pruned;

/* All results of a problem, an operation, a kernel, or of what several of them have in common. */
typedef struct tt__prune_part {
    int64_t problem_id;      /* 0: any */
    const char *op, *kernel; /* NULL: any */
} tt__prune_part;

/* What to delete. A NULL function selects nothing. */
typedef struct tt__prune_opts {
    void *user;
    bool (*gpu)(void *user, const tt__gpu *gpu);     /* true: delete all winners and trials of this GPU */
    bool (*winner)(void *user, const tt__winner *w); /* this winner */
    /* true: delete trials of this text of a template, and its cubins. kernel "": only cubins have the text.
     */
    bool (*text)(void *user, const char *kernel, const char *hash);
    const char *library;        /* delete trials of any other measuring method; NULL: none */
    const tt__prune_part *part; /* NULL: none */
    int64_t before_ms;          /* delete older winners and trials; 0: none */
    bool dry_run;               /* only count */
    bool alone;                 /* no other process uses the store: runs without an end were killed */
} tt__prune_opts;

/* Deletes in one transaction. Runs, cubins and names without references are deleted too, unless another run
 * is in progress. */
tt_status tt__store_prune(tt__store *s, const tt__prune_opts *opts, tt__pruned *out);

/* Calls `fn` with the name of each operation, or else of each kernel, that the store has something of. */
tt_status tt__store_prune_names(tt__store *s, bool kernels, void (*fn)(void *user, const char *name),
                                void *user);

/* Rewrites the file without free space and empties its log. Returns the sizes before and after. It needs as
 * much free space on the disk for a moment, and waits for all readers and writers. */
tt_status tt__store_vacuum(tt__store *s, int64_t *before, int64_t *after);

#endif
