/* `tune check`: is a store whole, in SQLite's sense and in ours? */
#ifndef TT_DB_CHECK_H
#define TT_DB_CHECK_H

#include "db/store.h"

/* `what` is valid during the call. */
typedef void (*tt__finding_fn)(void *user, const char *what);

typedef struct tt__checked {
    int64_t gpus, trials, winners, cubins; /* looked at */
    int64_t findings;
} tt__checked;

/* Reads everything: pages and indices, references, the type and range of every value, the hash of every
 * cubin. Changes nothing. Each thing that is wrong is one call of `fn`; TT_OK if the store could be read to
 * the end, whatever was found. TT_E_DB if it could not. */
tt_status tt__store_check(tt__store *s, tt__finding_fn fn, void *user, tt__checked *out);

#endif
