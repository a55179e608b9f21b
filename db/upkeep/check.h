/*
 * `tune check`: is a store intact, for SQLite and for us?
 */
#ifndef TT_DB_UPKEEP_CHECK_H
#define TT_DB_UPKEEP_CHECK_H

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

#endif
