/*
 * Statements, waiting and errors. SQLite allows one writer at a time and returns BUSY to others. These
 * functions wait and retry with jitter, so that callers never see it.
 */
#include "db/conn.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sizes.h"
#include "base/str.h"

static const char *const sql_text[TT__SQL_COUNT] = {
#define SQL_TEXT(name, text) text,
    TT__SQL(SQL_TEXT)
#undef SQL_TEXT
};

/* ---- Failing --------------------------------------------------------------------------------- */

tt_status tt__db_fail_damaged(tt__store *s, const char *doing, const char *why) {
    return tt__fail(
        TT_E_DB,
        "%s: cannot %s: the file is damaged (%s). It is left as it is: save what can be "
        "read with \"sqlite3 FILE .recover\", move it away to start afresh, or name another one (--db, "
        "tt_open_opts.db_path)",
        s->path, doing, why);
}

tt_status tt__db_fail(tt__store *s, int rc, const char *doing) {
    const char *why =
        s->db && sqlite3_errcode(s->db) != SQLITE_OK ? sqlite3_errmsg(s->db) : sqlite3_errstr(rc);
    int os = s->db ? sqlite3_system_errno(s->db) : 0;
    if (!os && s->db) /* a rollback has reset it */
        sqlite3_file_control(s->db, "main", SQLITE_FCNTL_LAST_ERRNO, &os);
    const char *os_why = os ? strerror(os) : "no further reason";
    if (s->stopped)
        return tt__fail(TT_E_INTERRUPTED, "%s: interrupted, it could not yet %s", s->path, doing);
    switch (rc & 0xff) {
    case SQLITE_INTERRUPT:
        return tt__fail(TT_E_DB,
                        "%s: cannot %s: it takes longer than any store of its size: the file is damaged, or "
                        "made to do harm",
                        s->path, doing);
    case SQLITE_NOMEM: /* SQLite also returns this for some damaged schemas */
        return tt__fail(TT_E_NO_MEMORY, "%s: cannot %s: there is not enough memory, or the file is damaged",
                        s->path, doing);
    case SQLITE_NOTADB:
        return tt__fail(TT_E_DB,
                        "%s: cannot %s: this is not a tiletune store (not an SQLite database, or its header "
                        "is damaged). It is left as it is: move it away, or name another file (--db, "
                        "tt_open_opts.db_path)",
                        s->path, doing);
    case SQLITE_CORRUPT:
    case SQLITE_ERROR: /* our own SQL is correct, so a table or column is missing */
    case SQLITE_MISMATCH:
        return tt__db_fail_damaged(s, doing, why);
    case SQLITE_READONLY:
        if (s->mode == TT__STORE_READ_ONLY)
            return tt__fail(TT_E_DB, "%s: cannot %s: the store was opened read-only", s->path, doing);
        return tt__fail(TT_E_DB,
                        "%s: cannot %s: the file or its folder is read-only: make both writable, open it "
                        "read-only, or name another file (--db, tt_open_opts.db_path)",
                        s->path, doing);
    case SQLITE_CANTOPEN:
        return tt__fail(
            TT_E_DB,
            "%s: cannot %s: the file, or the -wal and -shm files beside it, cannot be opened (%s): "
            "check that the file and its folder can be read and written, or name another file (--db, "
            "tt_open_opts.db_path)",
            s->path, doing, os_why);
    case SQLITE_FULL:
        return tt__fail(TT_E_DB, "%s: cannot %s: the disk is full. What was stored before is safe: make room",
                        s->path, doing);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: {
        tt__str word = {0};
        tt__str_add_word(&word, s->path);
        tt__fail(TT_E_DB,
                 "%s: cannot %s: another process has kept the store locked for %.0f s: see who has it open "
                 "(fuser %s) and whether it is stopped",
                 s->path, doing, s->patience_s, tt__str_text(&word));
        tt__str_free(&word);
        return TT_E_DB;
    }
    case SQLITE_IOERR:
        return tt__fail(TT_E_DB, "%s: cannot %s: %s (%s)", s->path, doing, why, os_why);
    default:
        return tt__fail(TT_E_DB, "%s: cannot %s: %s", s->path, doing, why);
    }
}

static int on_steps(void *user) {
    tt__store *s = user;
    return s->must_stop(s, s->began_s) || (s->read_until_s > 0 && tt__now_s() > s->read_until_s);
}

static void begin_statement(tt__store *s) {
    s->deadline_s = 0;
    s->stopped = false;
    s->began_s = tt__now_s();
}

/* ---- Waiting --------------------------------------------------------------------------------- */

static bool transient(int rc) {
    return (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_PROTOCOL;
}

/* Sleeps for 0.25 to 16 ms, longer each time. False once patience has run out. */
static bool wait_a_little(tt__store *s) {
    double now = tt__now_s();
    if (s->deadline_s <= 0) {
        s->deadline_s = now + s->patience_s;
        s->waits = 0;
    }
    if (now >= s->deadline_s || s->must_stop(s, s->deadline_s - s->patience_s))
        return false;
    unsigned most_us = 500u << (s->waits < 5 ? s->waits : 5);
    s->waits++;
    usleep(most_us / 2 + (useconds_t)rand_r(&s->seed) % (most_us / 2));
    return true;
}

bool tt__db_wait(tt__store *s, int rc) {
    return transient(rc) && wait_a_little(s);
}

static int on_busy(void *user, int count) {
    (void)count;
    return wait_a_little(user);
}

void tt__db_be_patient(tt__store *s) {
    enum { STEPS = 20000 }; /* of SQLite's virtual machine: less than a millisecond */
    s->seed = (unsigned)getpid() * 2654435761u ^ (unsigned)tt__unix_ms();
    sqlite3_busy_handler(s->db, on_busy, s);
    sqlite3_progress_handler(s->db, STEPS, on_steps, s);
}

int tt__db_script(tt__store *s, const char *sql) {
    int rc;
    begin_statement(s);
    do
        rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
    while (sqlite3_get_autocommit(s->db) && tt__db_wait(s, rc));
    return rc;
}

/* ---- Statements ------------------------------------------------------------------------------ */

static int bind_values(sqlite3_stmt *stmt, const char *types, va_list args) {
    int rc = SQLITE_OK;
    for (int at = 1; rc == SQLITE_OK && *types; types++, at++) {
        if (*types == 'i') {
            rc = sqlite3_bind_int64(stmt, at, va_arg(args, int64_t));
        } else if (*types == 'd') {
            rc = sqlite3_bind_double(stmt, at, va_arg(args, double));
        } else if (*types == 't') {
            rc = sqlite3_bind_text(stmt, at, va_arg(args, const char *), -1, SQLITE_STATIC);
        } else {
            const void *data = va_arg(args, const void *);
            rc = sqlite3_bind_blob64(stmt, at, data, va_arg(args, size_t), SQLITE_STATIC);
        }
    }
    return rc;
}

static tt_status prepare(tt__store *s, sqlite3_stmt **out, tt__sql sql, const char *types, va_list args) {
    sqlite3_stmt **kept = &s->stmts[sql];
    *out = NULL;
    if (*kept && sqlite3_stmt_busy(*kept))
        return tt__fail(TT_E_INTERNAL, "%s: a walk was started inside a walk of the same kind", s->path);
    int rc = SQLITE_OK;
    begin_statement(s);
    if (!*kept) {
        do
            rc = sqlite3_prepare_v3(s->db, sql_text[sql], -1, SQLITE_PREPARE_PERSISTENT, kept, NULL);
        while (tt__db_wait(s, rc));
        if (rc != SQLITE_OK)
            return tt__db_fail(s, rc, "read its tables");
    }
    rc = bind_values(*kept, types, args);
    if (rc != SQLITE_OK) {
        tt__db_done(*kept);
        return tt__db_fail(s, rc, "bind a value");
    }
    *out = *kept;
    return TT_OK;
}

tt_status tt__db_stmt(tt__store *s, sqlite3_stmt **out, tt__sql sql, const char *types, ...) {
    va_list args;
    va_start(args, types);
    tt_status status = prepare(s, out, sql, types, args);
    va_end(args);
    return status;
}

/* A full disk can end a group's transaction. Nothing after it may be committed separately. */
static tt_status check_group(tt__store *s, sqlite3_stmt *stmt) {
    if (!s->grouped || !sqlite3_get_autocommit(s->db))
        return TT_OK;
    tt__db_done(stmt);
    return tt__fail(TT_E_DB, "%s: an earlier failure has undone this group of writes: start it again",
                    s->path);
}

tt_status tt__db_step(tt__store *s, sqlite3_stmt *stmt, bool *row) {
    bool fresh = !sqlite3_stmt_busy(stmt);
    *row = false;
    if (fresh) {
        TT_TRY(check_group(s, stmt));
        begin_statement(s);
    }
    int rc = sqlite3_step(stmt);
    while (fresh && tt__db_wait(s, rc)) {
        sqlite3_reset(stmt);
        rc = sqlite3_step(stmt);
    }
    *row = rc == SQLITE_ROW;
    if (rc == SQLITE_ROW || rc == SQLITE_DONE)
        return TT_OK;
    tt_status status = tt__db_fail(s, rc, sqlite3_column_count(stmt) ? "read" : "write");
    tt__db_done(stmt);
    return status;
}

bool tt__db_next(tt__store *s, sqlite3_stmt *stmt, tt_status *status) {
    bool row = false;
    if (*status == TT_OK)
        *status = tt__db_step(s, stmt, &row);
    if (!row)
        tt__db_done(stmt);
    return row;
}

void tt__db_done(sqlite3_stmt *stmt) {
    if (stmt) {
        sqlite3_reset(stmt);
        sqlite3_clear_bindings(stmt);
    }
}

void tt__text_read(sqlite3_stmt *stmt, int at, char *out, size_t size, const char *keep) {
    const char *text = tt__db_text(stmt, at);
    tt__copy(out, size, text ? text : "");
    tt__clean(out, keep);
}

static tt_status run(tt__store *s, int64_t *value, tt__sql sql, const char *types, va_list args) {
    sqlite3_stmt *stmt;
    bool row = false;
    tt_status status = prepare(s, &stmt, sql, types, args);
    if (status == TT_OK)
        status = tt__db_step(s, stmt, &row);
    if (status == TT_OK && row && value)
        *value = sqlite3_column_int64(stmt, 0);
    tt__db_done(stmt);
    return status;
}

tt_status tt__db_exec(tt__store *s, tt__sql sql, const char *types, ...) {
    va_list args;
    va_start(args, types);
    tt_status status = run(s, NULL, sql, types, args);
    va_end(args);
    return status;
}

tt_status tt__db_int(tt__store *s, int64_t *value, int64_t none, tt__sql sql, const char *types, ...) {
    va_list args;
    *value = none;
    va_start(args, types);
    tt_status status = run(s, value, sql, types, args);
    va_end(args);
    return status;
}

/* ---- Pulled rows: a virtual table that can be read once --------------------------------------- */

typedef struct pulled {
    sqlite3_vtab base;
    tt__store *store;
} pulled;

static int connect_pulled(sqlite3 *db, void *user, int n, const char *const *words, sqlite3_vtab **out,
                          char **error) {
    (void)n, (void)words, (void)error;
    pulled *p = sqlite3_malloc(sizeof *p);
    if (!p)
        return SQLITE_NOMEM;
    *p = (pulled){.store = user};
    *out = &p->base;
    sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    return sqlite3_declare_vtab(db, "CREATE TABLE x (" TT__PULLED_COLS ")");
}

static int disconnect_pulled(sqlite3_vtab *table) {
    sqlite3_free(table);
    return SQLITE_OK;
}

static int plan_pulled(sqlite3_vtab *table, sqlite3_index_info *info) {
    (void)table, (void)info;
    return SQLITE_OK;
}

static int open_pulled(sqlite3_vtab *table, sqlite3_vtab_cursor **out) {
    (void)table;
    *out = sqlite3_malloc(sizeof **out);
    return *out ? SQLITE_OK : SQLITE_NOMEM;
}

static int close_pulled(sqlite3_vtab_cursor *at) {
    sqlite3_free(at);
    return SQLITE_OK;
}

static tt__pull *pull_of(sqlite3_vtab_cursor *at) {
    return ((pulled *)at->pVtab)->store->pull;
}

static int next_pulled(sqlite3_vtab_cursor *at) {
    tt__pull *p = pull_of(at);
    p->more = false;
    p->status = p->next(p->user, &p->more);
    return p->status == TT_OK ? SQLITE_OK : SQLITE_ABORT;
}

static int first_pulled(sqlite3_vtab_cursor *at, int plan, const char *text, int n, sqlite3_value **values) {
    (void)plan, (void)text, (void)n, (void)values;
    return next_pulled(at);
}

static int end_pulled(sqlite3_vtab_cursor *at) {
    return !pull_of(at)->more;
}

static int column_pulled(sqlite3_vtab_cursor *at, sqlite3_context *out, int column) {
    const tt__pull *p = pull_of(at);
    p->column(p->user, out, column);
    return SQLITE_OK;
}

static int rowid_pulled(sqlite3_vtab_cursor *at, sqlite3_int64 *id) {
    (void)at;
    *id = 0;
    return SQLITE_OK;
}

int tt__db_add_pulled(tt__store *s) {
    static const sqlite3_module module = {.xConnect = connect_pulled,
                                          .xBestIndex = plan_pulled,
                                          .xDisconnect = disconnect_pulled,
                                          .xOpen = open_pulled,
                                          .xClose = close_pulled,
                                          .xFilter = first_pulled,
                                          .xNext = next_pulled,
                                          .xEof = end_pulled,
                                          .xColumn = column_pulled,
                                          .xRowid = rowid_pulled};
    return sqlite3_create_module(s->db, "pulled", &module, s);
}

tt_status tt__db_pull(tt__store *s, tt__sql sql, tt__pull *pull, const char *types, ...) {
    sqlite3_stmt *stmt;
    va_list args;
    va_start(args, types);
    tt_status status = prepare(s, &stmt, sql, types, args);
    va_end(args);
    TT_TRY(status);
    TT_TRY(check_group(s, stmt));
    begin_statement(s);
    s->pull = pull;
    const int rc = sqlite3_step(stmt);
    s->pull = NULL;
    status = pull->status != TT_OK ? pull->status : rc == SQLITE_DONE ? TT_OK : tt__db_fail(s, rc, "write");
    tt__db_done(stmt);
    return status;
}

/* ---- Transactions ---------------------------------------------------------------------------- */

tt_status tt__db_begin(tt__store *s, bool *own) {
    *own = false;
    if (s->mode == TT__STORE_READ_ONLY) /* SQLite would allow BEGIN, and refuse the next statement */
        return tt__db_fail(s, SQLITE_READONLY, "write");
    if (s->grouped)
        return TT_OK;
    TT_TRY(tt__db_exec(s, TT__SQL_BEGIN, ""));
    *own = true;
    return TT_OK;
}

tt_status tt__db_end(tt__store *s, bool own, tt_status status) {
    if (!own)
        return status;
    if (status == TT_OK)
        status = tt__db_exec(s, TT__SQL_COMMIT, "");
    if (!sqlite3_get_autocommit(s->db))
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL); /* keep the first failure's message */
    return status;
}
