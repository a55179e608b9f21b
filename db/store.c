/*
 * Opens and closes the store. The file is checked before anything is changed. Creating and upgrading are the
 * same loop over migrations. Any number of processes may run it at once.
 */
#include "db/store.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "db/conn.h"
#include "db/path.h"

enum { APPLICATION_ID = 0x54547531 }; /* "TTu1" at offset 68 of the file */

/* ---- Forks ------------------------------------------------------------------------------------ */

/* A child of fork inherits SQLite's list of the locks that this process holds, but not the locks. A file that
 * it opens again, or closes, is then used without any, and gets damaged. */
static atomic_uint forks;     /* of this process and its parents */
static atomic_int open_files; /* stores that are open here */
static atomic_bool inherited; /* some were when this process was forked */

static void in_child(void) {
    atomic_fetch_add(&forks, 1);
    if (atomic_exchange(&open_files, 0) > 0)
        atomic_store(&inherited, true);
}

static void watch_forks(void) {
    pthread_atfork(NULL, NULL, in_child);
}

bool tt__store_forked(const tt__store *store) {
    return store->forks != atomic_load_explicit(&forks, memory_order_relaxed);
}

static tt_status count_open(tt__store *s) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    if (atomic_load(&inherited))
        return tt__fail(
            TT_E_DB,
            "%s: cannot open a store in this process, which was forked while one was open: SQLite's "
            "locks would be lost. Close all contexts before the fork, or start the process anew (in "
            "Python: multiprocessing with \"spawn\")",
            s->path);
    s->forks = atomic_load(&forks);
    s->in_file = strcmp(s->path, ":memory:") != 0;
    atomic_fetch_add(&open_files, s->in_file);
    return TT_OK;
}

/* ---- What is in the file --------------------------------------------------------------------- */

typedef struct header {
    int application_id, version;
    int64_t objects;
} header;

static int try_read_header(tt__store *s, header *out) {
    sqlite3_stmt *stmt = NULL;
    *out = (header){0};
    int rc = sqlite3_prepare_v2(s->db,
                                "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)"
                                " FROM pragma_application_id, pragma_user_version",
                                -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        out->application_id = sqlite3_column_int(stmt, 0);
        out->version = sqlite3_column_int(stmt, 1);
        out->objects = sqlite3_column_int64(stmt, 2);
        rc = SQLITE_OK;
    } else if (rc == SQLITE_DONE) {
        rc = SQLITE_CORRUPT;
    }
    sqlite3_finalize(stmt);
    return rc;
}

static int read_header(tt__store *s, header *out) {
    int rc;
    s->deadline_s = 0;
    do
        rc = try_read_header(s, out);
    while (tt__db_wait(s, rc));
    return rc;
}

static bool is_new(const header *h) {
    return h->application_id == 0 && h->version == 0 && h->objects == 0;
}

static tt_status check_header(tt__store *s, const header *h) {
    int known = (int)tt__n_migrations;
    if (is_new(h)) {
        if (s->mode == TT__STORE_READ_WRITE || strcmp(s->path, ":memory:") == 0)
            return TT_OK;
        return tt__fail(TT_E_DB,
                        "%s: the store is still empty, and opened read-only: tune first, or name "
                        "another file (--db, tt_open_opts.db_path)",
                        s->path);
    }
    if (h->application_id != APPLICATION_ID)
        return tt__fail(TT_E_DB,
                        "%s: this is an SQLite database of another program, not a tiletune store. It is "
                        "left as it is: name another file (--db, tt_open_opts.db_path)",
                        s->path);
    if (h->version > known)
        return tt__fail(TT_E_DB,
                        "%s: the store has schema %d, and this tiletune (%s) knows up to %d: upgrade "
                        "tiletune, or name another file (--db, tt_open_opts.db_path)",
                        s->path, h->version, TT_VERSION, known);
    if (h->version < 1)
        return tt__fail(TT_E_DB,
                        "%s: the file is damaged (schema version %d). It is left as it is: move it away "
                        "to start afresh, or name another one (--db, tt_open_opts.db_path)",
                        s->path, h->version);
    return TT_OK;
}

/* A store has only tables and indices. A foreign file could have views, triggers, generated columns or
 * virtual tables, which would decide what runs and for how long. */
static tt_status check_objects(tt__store *s) {
    static const char sql[] =
        "SELECT name, CASE WHEN type = 'table' THEN 'virtual table' ELSE type END FROM sqlite_schema"
        " WHERE type NOT IN ('table', 'index') OR (type = 'table' AND coalesce(rootpage, 0) <= 0)"
        " UNION ALL SELECT s.name, 'table with a generated column' FROM sqlite_schema AS s, "
        "pragma_table_xinfo(s.name)"
        " WHERE s.type = 'table' AND hidden <> 0";
    sqlite3_stmt *stmt = NULL;
    bool row = false;
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL);
    tt_status status = rc == SQLITE_OK ? tt__db_step(s, stmt, &row) : tt__db_fail(s, rc, "read its schema");
    if (status == TT_OK && row)
        status =
            tt__fail(TT_E_DB,
                     "%s: \"%.60s\" in it is a %.40s, which no store has: the file was changed by another "
                     "program, or made to do harm. It is left as it is: name another file (--db, "
                     "tt_open_opts.db_path)",
                     s->path, tt__db_text(stmt, 0), tt__db_text(stmt, 1));
    sqlite3_finalize(stmt);
    return status;
}

/* ---- Stopping -------------------------------------------------------------------------------- */

static _Thread_local struct {
    int (*asked)(void *user);
    void *user;
    double since_s; /* 0: not asked to stop */
    bool asking;    /* prevents recursion: the call-back may use a store */
} stop;

void tt__store_stop_when(int (*asked)(void *user), void *user) {
    stop.asked = asked;
    stop.user = user;
    stop.since_s = 0;
}

/* After a request to stop, the current statement, and one that begins later, may still run for a moment. Many
 * then end normally. */
static bool must_stop(tt__store *s, double began_s) {
    const double moment_s = 0.5;
    if (!stop.asked || stop.asking)
        return false;
    stop.asking = true;
    bool yes = stop.since_s > 0 || stop.asked(stop.user);
    stop.asking = false;
    if (!yes)
        return false;
    double now = tt__now_s();
    if (stop.since_s <= 0)
        stop.since_s = now;
    s->stopped = now >= moment_s + (began_s > stop.since_s ? began_s : stop.since_s);
    return s->stopped;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static tt_status run_script(tt__store *s, const char *sql, const char *doing) {
    int rc = tt__db_script(s, sql);
    return rc == SQLITE_OK ? TT_OK : tt__db_fail(s, rc, doing);
}

/* The SQL function n_samples(BLOB): the number of samples in a trial (measured.c writes them). */
static void n_samples(sqlite3_context *out, int n, sqlite3_value **values) {
    const unsigned char *in = sqlite3_value_blob(values[0]);
    int size = sqlite3_value_bytes(values[0]), ends = 0;
    for (int at = 0; in && n && at < size; at++)
        ends += !(in[at] & 0x80);
    sqlite3_result_int(out, ends);
}

static int connect(tt__store *s, const char *name, int flags) {
    sqlite3_close(s->db);
    s->db = NULL;
    int rc = sqlite3_open_v2(name, &s->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (!s->db)
        return SQLITE_NOMEM;
    if (rc != SQLITE_OK)
        return rc;
    /* What is refused stays as it is: a log is kept. Without one, SQLite removes the files that it makes, if
     * it may write. */
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, tt__path_has(s->path, "-wal"), NULL);
    /* The file may come from anywhere, and must not be able to run anything. */
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, 0);
    tt__db_be_patient(s);
    rc =
        sqlite3_create_function(s->db, "n_samples", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY,
                                NULL, n_samples, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = tt__db_add_pulled(s);
    if (rc != SQLITE_OK)
        return rc;
    return tt__db_script(s, "PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON");
}

/* Connects and reads the header, which is the first access to the file. */
static int connect_and_read(tt__store *s, const char *name, int flags, header *h) {
    int rc = connect(s, name, flags);
    return rc == SQLITE_OK ? read_header(s, h) : rc;
}

/* "file:...?immutable=1": SQLite then takes no locks, and needs no files beside the database. */
static tt_status immutable_uri(tt__str *out, const char *path) {
    tt__str_add(out, *path == '/' ? "file://" : "file:");
    for (const char *p = path; *p; p++) {
        if (strchr("%?#", *p))
            tt__str_addf(out, "%%%02X", (unsigned char)*p);
        else
            tt__str_addn(out, p, 1);
    }
    tt__str_add(out, "?immutable=1");
    return tt__str_check(out);
}

/* A WAL database needs its -wal and -shm files even for reading, and only a connection that may write removes
 * them in the end. With a log or a journal such a connection would change the file. If the files cannot be
 * created, no process can write either, and the database may be read as immutable, unless a log with unseen
 * changes is beside it. */
static tt_status connect_read_only(tt__store *s, header *h) {
    const bool changes = tt__path_has(s->path, "-wal") || tt__path_has(s->path, "-journal");
    int rc = connect_and_read(s, s->path, changes ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE, h);
    if (rc == SQLITE_OK)
        rc = tt__db_script(s, "PRAGMA query_only = ON");
    int kind = rc & 0xff;
    if (rc == SQLITE_READONLY_ROLLBACK) { /* pages are half-written, and the journal is needed to read them */
        tt__str word = {0};
        tt__str_add_word(&word, s->path);
        tt__fail(TT_E_DB,
                 "%s: cannot read the store: a process ended in the middle of a write to it. \"tune "
                 "vacuum --db %s\" repairs it, where the file and its folder can be written",
                 s->path, tt__str_text(&word));
        tt__str_free(&word);
        return TT_E_DB;
    }
    if ((kind == SQLITE_CANTOPEN || kind == SQLITE_READONLY) && !tt__path_has(s->path, "-wal")) {
        tt__str uri = {0};
        tt_status status = immutable_uri(&uri, s->path);
        if (status == TT_OK)
            rc = connect_and_read(s, uri.text, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, h);
        tt__str_free(&uri);
        TT_TRY(status);
    } else if (kind == SQLITE_CANTOPEN || kind == SQLITE_READONLY) {
        return tt__fail(TT_E_DB,
                        "%s: cannot read the store: its newest changes are in the -wal file beside it, which "
                        "cannot be read in a read-only folder: copy both files to where you can write",
                        s->path);
    }
    return rc == SQLITE_OK ? TT_OK : tt__db_fail(s, rc, "open the store");
}

/* Write-ahead logging lets readers and one writer work at the same time. Some network file systems do not
 * support it. The rollback journal is used there, which needs full syncs. */
static tt_status use_wal(tt__store *s) {
    sqlite3_stmt *stmt = NULL;
    bool row = false, wal = false;
    int rc = sqlite3_prepare_v2(s->db, "PRAGMA journal_mode = WAL", -1, &stmt, NULL);
    tt_status status = rc == SQLITE_OK ? tt__db_step(s, stmt, &row) : tt__db_fail(s, rc, "set the journal");
    if (status == TT_OK && row) {
        const char *mode = tt__db_text(stmt, 0);
        wal = mode && strcmp(mode, "wal") == 0;
    }
    sqlite3_finalize(stmt);
    TT_TRY(status);
    return run_script(s, wal ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL", "set it up");
}

static const char migrating[] = "bring its schema up to date";

/* The migrations that are left, inside the open transaction. */
static tt_status migrate_steps(tt__store *s) {
    header h;
    char stamp[96];
    int rc = read_header(s, &h); /* again, because another process may have migrated it */
    if (rc != SQLITE_OK)
        return tt__db_fail(s, rc, "read its schema version");
    TT_TRY(check_header(s, &h));
    if (h.version == (int)tt__n_migrations)
        return TT_OK;
    if (h.version == 0)
        TT_TRY(run_script(s, tt__whole_schema[0].sql, migrating));
    for (size_t i = (size_t)h.version; i < tt__n_migrations && h.version > 0; i++)
        TT_TRY(run_script(s, tt__migrations[i].sql, migrating));
    snprintf(stamp, sizeof stamp, "PRAGMA application_id = %d; PRAGMA user_version = %zu", APPLICATION_ID,
             tt__n_migrations);
    return run_script(s, stamp, migrating);
}

/* One transaction, because each commit waits for the disk. */
static tt_status migrate_all(tt__store *s) {
    TT_TRY(run_script(s, "BEGIN IMMEDIATE", migrating));
    tt_status status = migrate_steps(s);
    if (status == TT_OK)
        status = run_script(s, "COMMIT", migrating);
    if (!sqlite3_get_autocommit(s->db))
        tt__db_script(s, "ROLLBACK");
    return status;
}

/* Foreign keys are off, so that a table can be recreated. SQLite ignores this setting inside a
 * transaction. */
static tt_status migrate(tt__store *s) {
    TT_TRY(run_script(s, "PRAGMA foreign_keys = OFF; PRAGMA temp_store = MEMORY", migrating));
    tt_status status = migrate_all(s);
    int rc = tt__db_script(s, "PRAGMA foreign_keys = ON; PRAGMA temp_store = DEFAULT");
    return status == TT_OK && rc != SQLITE_OK ? tt__db_fail(s, rc, migrating) : status;
}

/* Goes on in a copy in memory, which is migrated. */
static tt_status use_copy(tt__store *s) {
    sqlite3 *file = s->db;
    s->db = NULL; /* connect must not close the file */
    int rc = connect(s, ":memory:", SQLITE_OPEN_READWRITE);
    sqlite3_backup *copy = rc == SQLITE_OK ? sqlite3_backup_init(s->db, "main", file, "main") : NULL;
    if (copy) {
        s->deadline_s = 0;
        do
            rc = sqlite3_backup_step(copy, -1);
        while (tt__db_wait(s, rc));
        sqlite3_backup_finish(copy);
    } else if (rc == SQLITE_OK) {
        rc = sqlite3_errcode(s->db);
    }
    sqlite3_close(file);
    TT_TRY(rc == SQLITE_DONE ? migrate(s) : tt__db_fail(s, rc, "copy it"));
    return s->mode == TT__STORE_COPY ? TT_OK : run_script(s, "PRAGMA query_only = ON", "read the copy");
}

static tt_status open_memory(tt__store *s, const char *name) {
    int rc = connect(s, name, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    if (rc != SQLITE_OK)
        return tt__db_fail(s, rc, "open the store");
    TT_TRY(migrate(s));
    return s->mode == TT__STORE_READ_ONLY ? run_script(s, "PRAGMA query_only = ON", "open the store") : TT_OK;
}

/* Of the file that SQLite has opened: a link on the way to it may have changed. */
static void look_for_strangers(tt__store *s) {
    s->no_code = tt__path_check_code(sqlite3_db_filename(s->db, "main")) != TT_OK;
}

static tt_status open_file(tt__store *s) {
    header h;
    TT_TRY(tt__path_prepare(s->path, s->mode));
    if (!s->foreign)
        TT_TRY(tt__path_check_private(s->path));
    if (s->mode == TT__STORE_READ_ONLY || s->mode == TT__STORE_COPY) {
        TT_TRY(connect_read_only(s, &h));
        look_for_strangers(s);
        TT_TRY(check_header(s, &h));
        TT_TRY(check_objects(s));
        return s->mode == TT__STORE_COPY || h.version < (int)tt__n_migrations ? use_copy(s) : TT_OK;
    }
    int rc = connect_and_read(s, s->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &h);
    if (rc != SQLITE_OK)
        return tt__db_fail(s, rc, "open the store");
    look_for_strangers(s);
    TT_TRY(check_header(s, &h));
    TT_TRY(check_objects(s));
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    if (sqlite3_db_readonly(s->db, "main") == 1) /* SQLite opens read-only without an error */
        return tt__db_fail(s, SQLITE_READONLY, "open the store for writing");
    if (is_new(&h)) /* before there is a log: on a full disk its pages would not get into the file */
        TT_TRY(migrate(s));
    TT_TRY(use_wal(s));
    return !is_new(&h) && h.version < (int)tt__n_migrations ? migrate(s) : TT_OK;
}

/* ---- Closing --------------------------------------------------------------------------------- */

static void finalize_all(tt__store *s) {
    for (int i = 0; i < TT__SQL_COUNT; i++) {
        sqlite3_finalize(s->stmts[i]);
        s->stmts[i] = NULL;
    }
}

/* The first access in exclusive mode locks the file, unless another connection has it open, and needs no -shm
 * file. The lock is kept. A process that opens the file meanwhile then has to set the journal's mode again,
 * and SQLite tells it that the file has gone. On a full disk, a file of no bytes can only be locked with a
 * journal in memory, which is never committed here. */
static bool is_empty_and_ours(tt__store *s) {
    static const char lock[] =
        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; PRAGMA journal_mode = MEMORY; "
        "BEGIN EXCLUSIVE";
    static const char rows[] =
        "SELECT 1 FROM gpu UNION ALL SELECT 1 FROM problem UNION ALL SELECT 1 FROM cubin";
    sqlite3_stmt *stmt = NULL;
    header h;
    s->patience_s = 0;
    bool empty = connect(s, s->path, SQLITE_OPEN_READWRITE) == SQLITE_OK &&
                 tt__db_script(s, lock) == SQLITE_OK && try_read_header(s, &h) == SQLITE_OK;
    if (empty && !is_new(&h))
        empty = sqlite3_prepare_v2(s->db, rows, -1, &stmt, NULL) == SQLITE_OK &&
                sqlite3_step(stmt) == SQLITE_DONE;
    sqlite3_finalize(stmt);
    return empty;
}

void tt__store_discard(tt__store **store) {
    tt__store *s = *store;
    if (!s)
        return;
    if (tt__store_forked(s)) {
        tt__store_close(store);
        return;
    }
    finalize_all(s);
    if (strcmp(s->path, ":memory:") != 0 && is_empty_and_ours(s))
        unlink(s->path);
    tt__store_close(store);
}

void tt__store_close(tt__store **store) {
    tt__store *s = *store;
    if (!s)
        return;
    if (!tt__store_forked(s)) {
        finalize_all(s);
        sqlite3_close(s->db);
        atomic_fetch_sub(&open_files, s->in_file);
    }
    free(s->path);
    free(s);
    *store = NULL;
}

/* ---- The kinds of stores ---------------------------------------------------------------------- */

/* The time limit follows the file's size, because a crafted file can have more rows than bytes. Reading is
 * several MB per second. */
static double until_s(const char *path) {
    struct stat st;
    return tt__now_s() + 60 + (stat(path, &st) == 0 ? 2e-6 * (double)st.st_size : 0);
}

static tt_status open_store(tt__store **out, const char *path, tt__store_mode mode, bool foreign) {
    enum { PATIENCE_S = 120 };
    *out = NULL;
    if (!path || !*path)
        return tt__fail(TT_E_INVALID,
                        "the path of the store is empty: name a file (--db, tt_open_opts.db_path)");
    tt__store *s = calloc(1, sizeof *s);
    char *copy = strdup(path);
    if (!s || !copy) {
        free(s);
        free(copy);
        return tt__fail_memory(sizeof *s + strlen(path));
    }
    s->path = copy;
    s->mode = mode;
    s->foreign = foreign;
    s->patience_s = PATIENCE_S;
    s->must_stop = must_stop;
    s->read_until_s = foreign ? until_s(path) : 0;
    const bool made = mode == TT__STORE_READ_WRITE && access(path, F_OK) != 0 && errno == ENOENT;
    tt_status status = count_open(s);
    if (status == TT_OK)
        status = strcmp(path, ":memory:") == 0 ? open_memory(s, foreign ? "" : path) : open_file(s);
    if (status != TT_OK && made)
        tt__store_discard(&s);
    if (status != TT_OK) {
        tt__store_close(&s);
        return status;
    }
    *out = s;
    return TT_OK;
}

tt_status tt__store_open(tt__store **out, const char *path, tt__store_mode mode) {
    return open_store(out, path, mode, false);
}

tt_status tt__store_open_foreign(tt__store **out, const char *path, bool *trusted) {
    TT_TRY(open_store(out, path, TT__STORE_READ_ONLY, true));
    *trusted = !(*out)->no_code;
    return TT_OK;
}

tt_status tt__store_open_scratch(tt__store **out) {
    TT_TRY(open_store(out, ":memory:", TT__STORE_READ_WRITE, true)); /* for SQLite, a file without a name */
    (*out)->read_until_s = 0;
    (*out)->foreign = false;
    return TT_OK;
}

const char *tt__store_path(const tt__store *store) {
    return store->path;
}

/* ---- The whole, for callers ------------------------------------------------------------------ */

tt_status tt__store_version(tt__store *s, int64_t *version) {
    return tt__db_int(s, version, 0, TT__SQL_VERSION, "");
}

tt_status tt__store_begin(tt__store *s) {
    if (s->grouped)
        return tt__fail(TT_E_INTERNAL, "%s: tt__store_begin inside a group of writes", s->path);
    TT_TRY(tt__db_begin(s, &s->grouped));
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_FKEY, -1, &s->checks_keys);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_FKEY, 0, NULL);
    return TT_OK;
}

tt_status tt__store_hold(tt__store *s) {
    return tt__db_exec(s, TT__SQL_BEGIN_READING, "");
}

tt_status tt__store_commit(tt__store *s) {
    if (!s->grouped)
        return tt__fail(TT_E_INTERNAL, "%s: tt__store_commit without tt__store_begin", s->path);
    s->grouped = false;
    const bool undone = sqlite3_get_autocommit(s->db);
    tt_status status = undone ? TT_OK : tt__db_end(s, true, TT_OK);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_FKEY, s->checks_keys, NULL);
    return undone ? tt__fail(TT_E_DB, "%s: an earlier failure has undone this group of writes", s->path)
                  : status;
}
