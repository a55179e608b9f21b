/*
 * The store: one SQLite file with GPUs, runs, trials, winners and cubins. Several processes may read and
 * write it at once. Callers never see "database is locked".
 *
 * Use a tt__store from one thread at a time: open one per thread, or lock around it. Unless a function says
 * otherwise, every failure is TT_E_DB and names the file. Only this folder uses SQLite.
 */
#ifndef TT_DB_STORE_H
#define TT_DB_STORE_H

#include "db/measured.h"

/* Opens the file. READ_WRITE creates it (mode 0600, its folder 0700) and migrates its schema. UPDATE is the
 * same for a store that is there: it fails if the file is missing or empty. READ_ONLY never writes, so it
 * fails if the file is missing, and works where nothing can be written. COPY does so, too, and writes to a
 * copy in memory. ":memory:" keeps nothing.
 *
 * TT_E_DB: the file is no database, damaged, read-only or of a newer schema, others can write it or its
 * folder, or there is no such folder. The message says what to do. */
tt_status tt__store_open(tt__store **out, const char *path, tt__store_mode mode);
/* Opens a file that others may have written, read-only. Use it only for merging (db/exchange/merge.h).
 * *trusted: its cubins may be used, see tt__path_check_code. */
tt_status tt__store_open_foreign(tt__store **out, const char *path, bool *trusted);
/* A new temporary store, in memory or, if it grows large, in a temporary file. */
tt_status tt__store_open_scratch(tt__store **out);
void tt__store_close(tt__store **store);
/* Closes it, and removes its file if that holds nothing and no other process has it open. An open transaction
 * is rolled back. */
void tt__store_discard(tt__store **store);
/* Sets a function that this thread calls while it waits for another process or reads for long. When the
 * function returns non-zero, the call fails with TT_E_INTERRUPTED within a second. NULL: none. */
void tt__store_stop_when(int (*asked)(void *user), void *user);
/* Was it opened in a process that has forked since, and is this the child? It must not be used then.
 * tt__store_close frees its memory, and leaves the file alone. */
bool tt__store_forked(const tt__store *store);
/* The path it was opened with; borrowed. */
const char *tt__store_path(const tt__store *store);

/* A number that changes when another connection changes the store. Takes microseconds. */
tt_status tt__store_version(tt__store *s, int64_t *version);

/* Groups many small writes into one commit. Groups do not nest. tt__store_commit ends it, and closing rolls
 * back. Other writers wait meanwhile, so keep it short. Write only what refers to ids that were found or made
 * in the group: nothing checks that, because it takes a third of the time. */
tt_status tt__store_begin(tt__store *s);
tt_status tt__store_commit(tt__store *s);
/* From now on all reads see the same state, whatever others write, and each needs no lock of its own. Do not
 * write to this store any more, and close it soon. */
tt_status tt__store_hold(tt__store *s);

#endif
