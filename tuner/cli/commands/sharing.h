/*
 * Copies files into a store, for `tune import`, `merge` and `export --database`.
 */
#ifndef TT_TUNER_CLI_COMMANDS_SHARING_H
#define TT_TUNER_CLI_COMMANDS_SHARING_H

#include "db/exchange/export.h"
#include "db/exchange/merge.h"
#include "db/exchange/recording.h"
#include "kernel/load/builtin.h"
#include "tuner/cli/shell/cli.h"

/* What --kernel, --op, --problem, --size and --shape choose, as far as they are given. Close `set`; *problem
 * is where the part's problem is kept. */
tt_status tt__sharing_part(tt__recording_part *out, tt__template_set *set, tt__problem *problem,
                           const tt__cli_args *args);

/* Reads n files, and copies them in one transaction. Cubins of a database are taken only with `trust`, and if
 * no other user could have written it. A note on standard error says when they are left out. `foreign` as in
 * tt__recording_open_t4. */
tt_status tt__sharing_take(tt__store *to, const char *const *paths, size_t n, bool trust,
                           const tt__foreign *foreign, tt__merged *report);

/* "all.db: 12 winners (3 more are as good here already), 1400 trials, 12 cubins new". */
void tt__sharing_print(const tt__merged *report, const char *into);

/* Opens a store to copy into. *is_new: it was created. After a failure, remove it with
 * tt__sharing_discard. */
tt_status tt__sharing_open(tt__store **out, const char *path, bool *is_new);
/* The same for a new file. Another store there is left as it is; the message says what to do otherwise. */
tt_status tt__sharing_create(tt__store **out, const char *path, const char *otherwise, bool *is_new);
void tt__sharing_discard(tt__store **store, bool is_new);

#endif
