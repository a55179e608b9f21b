/*
 * The store's connection, for the files of this folder: statements, patience with other processes, and
 * the sentence for each failure.
 */
#ifndef TT_DB_CONN_H
#define TT_DB_CONN_H

#include <sqlite3.h>

#include "db/sql.h"
#include "db/store.h"

struct tt__store {
    sqlite3 *db;
    char *path;
    tt__store_mode mode;
    bool foreign;         /* others may have written it */
    bool grouped;         /* between tt__store_begin and tt__store_commit */
    double patience_s;    /* how long to wait for other processes */
    double deadline_s;    /* of the wait that is under way; 0: none */
    unsigned waits, seed; /* of the wait that is under way; for its jitter */
    double began_s;       /* of the statement that is under way */
    double read_until_s;  /* of a foreign file: when all of it must have been read; 0: whenever */
    bool stopped;         /* the statement that is under way, by tt__store_stop_when */
    sqlite3_stmt *stmts[TT__SQL_COUNT];
};

typedef struct tt__migration {
    const char *name; /* "001-initial.sql" */
    const char *sql;
} tt__migration;
/* Embedded from db/schema; migration i leads from version i to i + 1. */
extern const tt__migration tt__migrations[];
extern const size_t tt__n_migrations;

/* TT_E_DB (or TT_E_NO_MEMORY) with the file, what could not be done, why, and what to do. */
tt_status tt__db_fail(tt__store *s, int rc, const char *doing);

/* Installs the busy handler, and what ends a statement that takes too long. */
void tt__db_be_patient(tt__store *s);
/* Is `rc` worth another try? Then it has slept for a moment. False once patience has run out; a wait
 * begins where deadline_s is 0. */
bool tt__db_wait(tt__store *s, int rc);
/* Runs SQL that returns nothing; waits for other processes. An SQLite result code. */
int tt__db_script(tt__store *s, const char *sql);

/* Gives a statement with its leading parameters bound: i int64_t, d double, t const char * (NULL is NULL),
 * b const void * and size_t. What is bound must live until tt__db_done. Fails if it is in use. */
tt_status tt__db_stmt(tt__store *s, sqlite3_stmt **out, tt__sql sql, const char *types, ...);
/* The next row, if there is one; waits for other processes. Ends the statement on failure. */
tt_status tt__db_step(tt__store *s, sqlite3_stmt *stmt, bool *row);
/* Makes a statement ready for the next use; NULL is fine. */
void tt__db_done(sqlite3_stmt *stmt);
/* A statement that returns no row, from binding to done. */
tt_status tt__db_exec(tt__store *s, tt__sql sql, const char *types, ...);

/* A transaction around several writes, or nothing inside a group of the caller's. */
tt_status tt__db_begin(tt__store *s, bool *own);
/* Commits if `status` is TT_OK and rolls back otherwise; returns the first failure. */
tt_status tt__db_end(tt__store *s, bool own, tt_status status);

/* n_samples(BLOB) in SQL: how many samples a trial has. */
void tt__db_n_samples(sqlite3_context *out, int n, sqlite3_value **values);

/* The number of an environment, added on first use; -1 if unknown in a read-only store. */
tt_status tt__env_id(tt__store *s, const tt__env *env, int64_t *id);

/* tt__store_run_begin for a run that began then. */
tt_status tt__run_add(tt__store *s, int64_t gpu_id, const tt__env *env, const char *source,
                      int64_t started_ms, int64_t *run_id);

/* A trial from TT__TRIAL_COLS. TT_E_DB if the row is damaged. */
tt_status tt__trial_read(tt__store *s, sqlite3_stmt *stmt, tt__trial *out);
enum { TT__TRIAL_COL_COUNT = 7 };
/* Of a trial, and of what it may be divided by: the ratio of two metrics of one kernel. */
#define TT__WEIGHT_MAX 1e100
/* TT_E_INVALID if a number in it is negative, not finite or out of all proportion. */
tt_status tt__trial_check(const tt__trial *t);

/* "measured", "replayed", "imported" for 0, 1, 2. */
const char *tt__run_source_name(int source);

#endif
