/*
 * Copies files into a store, for `tune import`, `merge` and `export --database`.
 */
#ifndef TT_CLI_SHARING_H
#define TT_CLI_SHARING_H

#include "db/merge.h"
#include "db/recording.h"
#include "tuner/cli/cli.h"

/* The content of a file: a database or a recording. */
typedef struct tt__shared {
    tt__store *scratch; /* or else */
    tt__recording *recording;
} tt__shared;

/* Reads n files. Cubins of a database are read only with `trust`, and if no other user could have written it.
 * A note on standard error says when they are left out. `foreign` as in tt__recording_open_t4. Free *out,
 * also after a failure. */
tt_status tt__sharing_read(tt__shared **out, const char *const *paths, size_t n, bool trust,
                           const tt__foreign *foreign);
/* Copies everything in one transaction. */
tt_status tt__sharing_take(tt__store *to, const tt__shared *all, size_t n, tt__merged *report);
void tt__sharing_free(tt__shared **all, size_t n);

/* "all.db: 12 winners (3 more are as good here already), 1400 trials, 12 cubins new". */
void tt__sharing_print(const tt__merged *report, const char *into);

/* Opens a store to copy into. *is_new: it was created. After a failure, remove it with
 * tt__sharing_discard. */
tt_status tt__sharing_open(tt__store **out, const char *path, bool *is_new);
void tt__sharing_discard(tt__store **store, const char *path, bool is_new);

#endif
