/* Where the store's file is, and getting it ready to be opened by SQLite. */
#ifndef TT_DB_PATH_H
#define TT_DB_PATH_H

#include "db/store.h"

/* Checks that the file can be a store; in READ_WRITE mode creates it, empty, if it is not there, and its
 * folder if that is the default one. What SQLite reads beside it has to be regular files. TT_E_DB says what
 * to do. */
tt_status tt__path_prepare(const char *path, tt__store_mode mode);

/* TT_E_DB if others than this user, root and the owner of the file could have written it or what SQLite reads
 * beside it, or can make files in its folder: what is in a store gets loaded as code. $TILETUNE_TRUST_STORE=1
 * lets everything pass. */
tt_status tt__path_check_private(const char *path);

/* "file:...?immutable=1": SQLite then takes no locks and needs no files beside the database. */
tt_status tt__path_immutable_uri(tt__str *out, const char *path);

/* Is there a write-ahead log beside the database that has something in it? */
bool tt__path_has_wal(const char *path);

#endif
