/*
 * The path of the store's file, who may write it, and the preparations before SQLite opens it.
 */
#ifndef TT_DB_PATH_H
#define TT_DB_PATH_H

#include "base/str.h"

typedef struct tt__store tt__store;

typedef enum tt__store_mode {
    TT__STORE_READ_WRITE,
    TT__STORE_UPDATE,
    TT__STORE_READ_ONLY,
    TT__STORE_COPY
} tt__store_mode;

/* The store's default path: see tt_open_opts.db_path. TT_E_INVALID: HOME is not set. */
tt_status tt__store_default_path(tt__str *out);

/* Checks that the file can be a store. READ_WRITE mode creates an empty file if it is missing, and its folder
 * if that is the default one. Files that SQLite reads beside it must be regular. TT_E_DB says what to do. */
tt_status tt__path_prepare(const char *path, tt__store_mode mode);

/* Could a store be made at this path, where no file is? Leaves nothing. TT_E_DB says why not, and what to do.
 */
tt_status tt__path_check_new(const char *path);

/* Others must not be able to write a store. The file, its folder and the files that SQLite reads beside it
 * may be writable by this user, root and the file's owner only: TT_E_DB otherwise. $TILETUNE_TRUST_STORE
 * turns this check and the next one off: for the store that it names, or for all if it is 1. */
tt_status tt__path_check_private(const char *path);

/* Code is loaded only from a store of this user or root, in folders that nobody else can change. TT_E_DB
 * names the one that others can. */
tt_status tt__path_check_code(const char *path);

/* Is there a file with content beside the database? side: "-wal" or "-journal". */
bool tt__path_has(const char *path, const char *side);

#endif
