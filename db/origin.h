/*
 * Where a run comes from. It stays with its trials and winners when stores are merged.
 */
#ifndef TT_DB_ORIGIN_H
#define TT_DB_ORIGIN_H

#include "db/store.h"

typedef struct tt__origin {
    char who[128];    /* "user@host", or $TILETUNE_WHO; "": not known */
    char program[64]; /* version and commit of the program */
    char file[17];    /* hash of an imported file without a date, by which it is known; "": it has a date */
} tt__origin;

/* The commit that is built. */
extern const char tt__commit[];

/* Of runs of this process. */
void tt__origin_here(tt__origin *out);
/* Of the run that found a winner. Empty if there is none. */
tt_status tt__store_origin(tt__store *s, int64_t gpu_id, int64_t problem_id, tt__origin *out);

#endif
