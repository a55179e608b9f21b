/* Taking out of a store what is of no use any more. Nothing here judges: the caller says what goes. */
#ifndef TT_DB_PRUNE_H
#define TT_DB_PRUNE_H

#include "db/store.h"

typedef struct tt__pruned {
    int64_t winners, trials, runs, cubins;
} tt__pruned;

/* What goes; a NULL function takes nothing. */
typedef struct tt__prune_opts {
    void *user;
    bool (*gpu)(void *user, const tt__gpu *gpu);     /* all winners and trials of this GPU */
    bool (*winner)(void *user, const tt__winner *w); /* this winner */
    bool (*text)(void *user, const char *kernel,
                 const char *hash); /* trials of this text of a template, and its cubins */
    const char *library;            /* trials of any other method of measuring; NULL: none */
    int64_t before_ms;              /* winners and trials from before; 0: none */
    bool dry_run;                   /* count, and leave everything as it is */
} tt__prune_opts;

/* One transaction. Runs, cubins and names that nothing refers to any more go with the rest, but not while
 * another run is under way. */
tt_status tt__store_prune(tt__store *s, const tt__prune_opts *opts, tt__pruned *out);

/* Rewrites the file without its holes and empties its log; gives the bytes before and after. Needs as much
 * room again on the disk for a moment, and waits for all readers and writers. */
tt_status tt__store_vacuum(tt__store *s, int64_t *before, int64_t *after);

#endif
