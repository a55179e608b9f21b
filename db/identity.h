/*
 * GPUs, environments, problems and configurations. Each is stored once and has a numeric id.
 */
#ifndef TT_DB_IDENTITY_H
#define TT_DB_IDENTITY_H

#include "db/field.h"
#include "db/path.h"

/* ---- Identities: found, or added on first use ------------------------------------------------ */

/* A known GPU may differ in memory by 5 %, because drivers report it differently. Its other properties are
 * updated. A read-only store adds nothing: an unknown object gets id -1, which matches nothing. */
tt_status tt__store_gpu(tt__store *s, const tt__gpu *gpu, int64_t *id);
/* TT_E_INVALID: it is not valid, see tt__check_problem (db/field.h). */
tt_status tt__store_problem(tt__store *s, const tt__problem *p, int64_t *id);
/* kernel, op and hash of the template; `config` as in tt__candidate. */
tt_status tt__store_config(tt__store *s, const char *kernel, const char *op, const char *hash,
                           const char *config, int64_t *id);

/* The same without adding, for queries. *id is -1 if the store does not have it. */
tt_status tt__store_known_gpu(tt__store *s, const tt__gpu *gpu, int64_t *id);
tt_status tt__store_known_problem(tt__store *s, const tt__problem *p, int64_t *id);

/* What is stored under the hash `before` of a user's text is stored under `now` from now on. *changed: there
 * was something. A read-only store stays as it is. */
tt_status tt__store_rename_text(tt__store *s, const char *before, const char *now, bool *changed);

/* Finds the GPU that tt__gpu_matches best. Of several with one name or text it is the one that ran last.
 * TT_E_INVALID: none or several names match; the message lists the GPUs. *gpu is then one of several, or all
 * zeros. */
tt_status tt__store_find_gpu(tt__store *s, const char *name, tt__gpu *gpu, int64_t *id);

/* For a look-up in memory, which reads all: calls `fn` for each GPU or problem, in the order of their ids.
 * Problems that cannot be read are left out. Arguments are valid during the call-back, which must not start
 * such a loop. */
typedef tt_status (*tt__gpu_fn)(void *user, int64_t gpu_id, const tt__gpu *gpu);
tt_status tt__store_gpus(tt__store *s, tt__gpu_fn fn, void *user);
typedef tt_status (*tt__stored_problem_fn)(void *user, int64_t problem_id, const tt__problem *p);
tt_status tt__store_problems(tt__store *s, tt__stored_problem_fn fn, void *user);

/* ---- For this folder ------------------------------------------------------------------------- */

/* The id of an environment, added on first use; -1 if a read-only store does not have it. */
tt_status tt__env_id(tt__store *s, const tt__env *env, int64_t *id);

/* A problem from TT__PROBLEM_COLS, and its values with one more statement. TT_E_DB if a row is damaged. */
tt_status tt__db_problem_read(tt__store *s, sqlite3_stmt *stmt, int at, tt__problem *out);
enum { TT__PROBLEM_COL_COUNT = 7 };
/* The same; TT_E_INVALID says what is wrong with it. */
tt_status tt__checked_problem(tt__store *s, sqlite3_stmt *stmt, int at, tt__problem *out);

#endif
