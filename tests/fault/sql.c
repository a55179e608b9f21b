/*
 * The linker replaces SQLite's functions by these (--wrap). A VFS wraps the system's.
 */
#include "fault/sql.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- Memory -------------------------------------------------------------------------------------------- */

static sqlite3_mem_methods own;

/* alloc.c counts what malloc gives; a block of SQLite's stands for it. */
static void *on_malloc(int n) {
    void *token = malloc(1);
    free(token);
    return token ? own.xMalloc(n) : NULL;
}

static void *on_realloc(void *p, int n) {
    void *token = malloc(1);
    free(token);
    return token ? own.xRealloc(p, n) : NULL;
}

/* ---- Statements ---------------------------------------------------------------------------------------- */

typedef struct counter {
    atomic_long count;
    long fails_at;
} counter;

static counter calls, accesses;

static bool fails(counter *c) {
    return atomic_fetch_add(&c->count, 1) + 1 == c->fails_at;
}

static int fail_at(counter *c, long n) {
    int to_come = c->count < c->fails_at;
    c->fails_at = n > 0 ? c->count + n : 0;
    return to_come;
}

long sql_call_count(void) {
    return calls.count;
}

long sql_access_count(void) {
    return accesses.count;
}

int sql_fail_call(long n) {
    return fail_at(&calls, n);
}

int sql_fail_access(long n) {
    return fail_at(&accesses, n);
}

int __real_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int n, sqlite3_stmt **out, const char **tail);
int __real_sqlite3_prepare_v3(sqlite3 *db, const char *sql, int n, unsigned flags, sqlite3_stmt **out,
                              const char **tail);
int __real_sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **), void *user,
                        char **error);
int __real_sqlite3_step(sqlite3_stmt *stmt);
int __wrap_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int n, sqlite3_stmt **out, const char **tail);
int __wrap_sqlite3_prepare_v3(sqlite3 *db, const char *sql, int n, unsigned flags, sqlite3_stmt **out,
                              const char **tail);
int __wrap_sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **), void *user,
                        char **error);
int __wrap_sqlite3_step(sqlite3_stmt *stmt);

int __wrap_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int n, sqlite3_stmt **out, const char **tail) {
    *out = NULL;
    return fails(&calls) ? SQLITE_IOERR : __real_sqlite3_prepare_v2(db, sql, n, out, tail);
}

int __wrap_sqlite3_prepare_v3(sqlite3 *db, const char *sql, int n, unsigned flags, sqlite3_stmt **out,
                              const char **tail) {
    *out = NULL;
    return fails(&calls) ? SQLITE_IOERR : __real_sqlite3_prepare_v3(db, sql, n, flags, out, tail);
}

int __wrap_sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **), void *user,
                        char **error) {
    return fails(&calls) ? SQLITE_IOERR : __real_sqlite3_exec(db, sql, row, user, error);
}

int __wrap_sqlite3_step(sqlite3_stmt *stmt) {
    return fails(&calls) ? SQLITE_IOERR : __real_sqlite3_step(stmt);
}

/* ---- Files --------------------------------------------------------------------------------------------- */

typedef struct file {
    sqlite3_file base;
    sqlite3_file *system; /* behind it */
} file;

static sqlite3_vfs *system_vfs, vfs;
static long n_files;

long sql_files(void) {
    return n_files;
}

static sqlite3_file *of(sqlite3_file *f) {
    return ((file *)f)->system;
}

/* A method that calls the wrapped one, unless it is the one to fail. */
#define MAY_FAIL(name, method, code, params, ...)                                                            \
    static int name params {                                                                                 \
        return fails(&accesses) ? (code) : of(f)->pMethods->method(__VA_ARGS__);                             \
    }
#define HANDS_ON(name, method, params, ...)                                                                  \
    static int name params {                                                                                 \
        return of(f)->pMethods->method(__VA_ARGS__);                                                         \
    }

MAY_FAIL(on_read, xRead, SQLITE_IOERR_READ, (sqlite3_file * f, void *out, int n, sqlite3_int64 at), of(f),
         out, n, at)
MAY_FAIL(on_write, xWrite, SQLITE_IOERR_WRITE, (sqlite3_file * f, const void *data, int n, sqlite3_int64 at),
         of(f), data, n, at)
MAY_FAIL(on_truncate, xTruncate, SQLITE_IOERR_TRUNCATE, (sqlite3_file * f, sqlite3_int64 size), of(f), size)
MAY_FAIL(on_sync, xSync, SQLITE_IOERR_FSYNC, (sqlite3_file * f, int flags), of(f), flags)
MAY_FAIL(on_size, xFileSize, SQLITE_IOERR_FSTAT, (sqlite3_file * f, sqlite3_int64 *size), of(f), size)
MAY_FAIL(on_lock, xLock, SQLITE_IOERR_LOCK, (sqlite3_file * f, int level), of(f), level)
MAY_FAIL(on_reserved, xCheckReservedLock, SQLITE_IOERR_CHECKRESERVEDLOCK, (sqlite3_file * f, int *held),
         of(f), held)
MAY_FAIL(on_map, xShmMap, SQLITE_IOERR_SHMMAP,
         (sqlite3_file * f, int region, int size, int extend, void volatile **out), of(f), region, size,
         extend, out)
HANDS_ON(on_unlock, xUnlock, (sqlite3_file * f, int level), of(f), level)
HANDS_ON(on_control, xFileControl, (sqlite3_file * f, int op, void *arg), of(f), op, arg)
HANDS_ON(on_sector, xSectorSize, (sqlite3_file * f), of(f))
HANDS_ON(on_traits, xDeviceCharacteristics, (sqlite3_file * f), of(f))
HANDS_ON(on_unmap, xShmUnmap, (sqlite3_file * f, int take_away), of(f), take_away)

/* Only taking one can fail. */
static int on_shm_lock(sqlite3_file *f, int offset, int n, int flags) {
    if (flags & SQLITE_SHM_LOCK && fails(&accesses))
        return SQLITE_IOERR_SHMLOCK;
    return of(f)->pMethods->xShmLock(of(f), offset, n, flags);
}

static void on_barrier(sqlite3_file *f) {
    of(f)->pMethods->xShmBarrier(of(f));
}

static int on_close(sqlite3_file *f) {
    n_files--;
    return of(f)->pMethods->xClose(of(f));
}

static const sqlite3_io_methods methods = {.iVersion = 2,
                                           .xClose = on_close,
                                           .xRead = on_read,
                                           .xWrite = on_write,
                                           .xTruncate = on_truncate,
                                           .xSync = on_sync,
                                           .xFileSize = on_size,
                                           .xLock = on_lock,
                                           .xUnlock = on_unlock,
                                           .xCheckReservedLock = on_reserved,
                                           .xFileControl = on_control,
                                           .xSectorSize = on_sector,
                                           .xDeviceCharacteristics = on_traits,
                                           .xShmMap = on_map,
                                           .xShmLock = on_shm_lock,
                                           .xShmBarrier = on_barrier,
                                           .xShmUnmap = on_unmap};

static int on_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out_flags) {
    file *own_file = (file *)f;
    (void)v;
    *own_file = (file){.system = (sqlite3_file *)(own_file + 1)};
    if (fails(&accesses))
        return SQLITE_CANTOPEN;
    int rc = system_vfs->xOpen(system_vfs, name, own_file->system, flags, out_flags);
    if (rc == SQLITE_OK) {
        own_file->base.pMethods = &methods;
        n_files++;
    }
    return rc;
}

static int on_delete(sqlite3_vfs *v, const char *name, int sync) {
    (void)v;
    return fails(&accesses) ? SQLITE_IOERR_DELETE : system_vfs->xDelete(system_vfs, name, sync);
}

static int on_access(sqlite3_vfs *v, const char *name, int flags, int *yes) {
    (void)v;
    return fails(&accesses) ? SQLITE_IOERR_ACCESS : system_vfs->xAccess(system_vfs, name, flags, yes);
}

bool sql_hook(void) {
    sqlite3_mem_methods hooked;
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &own) != SQLITE_OK)
        return false;
    hooked = own;
    hooked.xMalloc = on_malloc;
    hooked.xRealloc = on_realloc;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &hooked) != SQLITE_OK || sqlite3_initialize() != SQLITE_OK)
        return false;
    system_vfs = sqlite3_vfs_find(NULL);
    vfs = *system_vfs;
    vfs.zName = "tt-faulty";
    vfs.szOsFile += (int)sizeof(file);
    vfs.xOpen = on_open;
    vfs.xDelete = on_delete;
    vfs.xAccess = on_access;
    return sqlite3_vfs_register(&vfs, 1) == SQLITE_OK;
}
