/*
 * The store's connection, for this folder: statements, waiting for other processes, and error messages.
 */
#ifndef TT_DB_CONN_H
#define TT_DB_CONN_H

#include <sqlite3.h>

#include "base/str.h"
#include "db/path.h"
#include "db/sql.h"

struct tt__store {
    sqlite3 *db;
    char *path;
    tt__store_mode mode;
    bool foreign;         /* others may have written the file */
    bool no_code;         /* others may have put cubins into it: they are not used */
    bool in_file;         /* it is a file, and counts as open */
    unsigned forks;       /* of this process and its parents, when the store was opened */
    bool grouped;         /* between tt__store_begin and tt__store_commit */
    int checks_keys;      /* foreign keys are checked outside of a group */
    double patience_s;    /* how long to wait for other processes */
    double deadline_s;    /* end of the current wait; 0: none */
    unsigned waits, seed; /* waits: so far; seed: for the jitter */
    double began_s;       /* start of the current statement */
    double read_until_s;  /* for a foreign file: deadline for reading all of it; 0: none */
    bool (*must_stop)(tt__store *s, double began_s); /* is what began then to be ended? Sets `stopped` */
    bool stopped;                                    /* it has ended the current statement */
    struct tt__pull *pull;                           /* of the current one */
    int64_t screened_ms;                             /* time of the last trial of a search */
    sqlite3_stmt *stmts[TT__SQL_COUNT];
};

typedef struct tt__migration {
    const char *name; /* "001-initial.sql" */
    const char *sql;
} tt__migration;
/* Embedded from db/schema. Migration i leads from version i to i + 1. */
extern const tt__migration tt__migrations[];
extern const size_t tt__n_migrations;
extern const tt__migration tt__whole_schema[]; /* one: from nothing to the newest version */
extern const size_t tt__n_whole_schema;

/* Fails with TT_E_DB (or TT_E_NO_MEMORY). The message says the file, what failed, why, and what to do. */
tt_status tt__db_fail(tt__store *s, int rc, const char *doing);
/* The same for a damaged file. `why` is the reason. */
tt_status tt__db_fail_damaged(tt__store *s, const char *doing, const char *why);

/* Installs the busy handler and the time limit for statements. */
void tt__db_be_patient(tt__store *s);
/* True if `rc` is worth a retry; it has slept before it returns. False once patience has run out. A wait
 * begins when deadline_s is 0. */
bool tt__db_wait(tt__store *s, int rc);
/* Runs SQL that returns nothing, and waits for other processes. Returns an SQLite result code. */
int tt__db_script(tt__store *s, const char *sql);

/* Gets a statement and binds its first parameters. `types`: i int64_t, d double, t const char * (NULL is
 * NULL), b const void * and size_t. Bound data must live until tt__db_done. Fails if the statement is in
 * use. */
tt_status tt__db_stmt(tt__store *s, sqlite3_stmt **out, tt__sql sql, const char *types, ...);
/* Steps to the next row, if there is one, and waits for other processes. Resets the statement on failure. */
tt_status tt__db_step(tt__store *s, sqlite3_stmt *stmt, bool *row);
/* The loop over the rows of a query: `while (tt__db_next(s, stmt, &status))`. It ends, and resets the
 * statement, if *status is not TT_OK, after the last row, and on failure, which becomes *status. For
 * one row, write `if`, and tt__db_done after it. */
bool tt__db_next(tt__store *s, sqlite3_stmt *stmt, tt_status *status);
/* Resets a statement for its next use. NULL is allowed. */
void tt__db_done(sqlite3_stmt *stmt);
/* Runs a statement that returns no row. */
tt_status tt__db_exec(tt__store *s, tt__sql sql, const char *types, ...);
/* Runs one that returns an integer. `none` if it returns no row, or fails. */
tt_status tt__db_int(tt__store *s, int64_t *value, int64_t none, tt__sql sql, const char *types, ...);

/* Rows that a statement pulls into a table: it inserts what it selects from `pulled`, whose columns are
 * TT__PULLED_COLS. For each row that takes half the time of a statement of its own. */
typedef struct tt__pull {
    tt_status (*next)(void *user, bool *more);
    void (*column)(void *user, sqlite3_context *out, int at); /* nothing: NULL */
    void *user;
    bool more;
    tt_status status;
} tt__pull;
/* Runs such a statement. `next` may use the store, but for this function. Its failure becomes that of the
 * call. */
tt_status tt__db_pull(tt__store *s, tt__sql sql, tt__pull *pull, const char *types, ...);
/* Makes `pulled` known to a connection. Returns an SQLite result code. */
int tt__db_add_pulled(tt__store *s);

/* A text of the current row, valid until the next step or tt__db_done. NULL: the value is NULL, or memory has
 * run out. */
static inline const char *tt__db_text(sqlite3_stmt *stmt, int at) {
    return (const char *)sqlite3_column_text(stmt, at);
}
/* Copies such a text, cut to `size` and cleaned (base/str.h). "" for NULL. */
void tt__text_read(sqlite3_stmt *stmt, int at, char *out, size_t size, const char *keep);

/* Begins a transaction around several writes. Does nothing inside a caller's group; *own says which. */
tt_status tt__db_begin(tt__store *s, bool *own);
/* Commits if `status` is TT_OK and rolls back otherwise. Returns the first failure. */
tt_status tt__db_end(tt__store *s, bool own, tt_status status);

#endif
