/*
 * Makes SQLite faster for the targets without changing results: no locks in a process with one thread, and
 * statements that are prepared once per lasting connection (--wrap in tests/meson.build).
 */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

int __real_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int n, sqlite3_stmt **out, const char **tail);
int __real_sqlite3_finalize(sqlite3_stmt *stmt);
int __wrap_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int n, sqlite3_stmt **out, const char **tail);
int __wrap_sqlite3_finalize(sqlite3_stmt *stmt);

enum { KEPT_MAX = 64 };

static sqlite3 *staying;
static struct {
    char *sql;
    sqlite3_stmt *stmt;
    bool taken;
} kept[KEPT_MAX];
static size_t n_kept;

__attribute__((constructor)) static void configure(void) {
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

void fuzz_keep_statements(sqlite3 *db) {
    staying = db;
}

int __wrap_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int n, sqlite3_stmt **out, const char **tail) {
    for (size_t i = 0; db == staying && i < n_kept; i++)
        if (!kept[i].taken && strcmp(kept[i].sql, sql) == 0) {
            kept[i].taken = true;
            *out = kept[i].stmt;
            return SQLITE_OK;
        }
    int rc = __real_sqlite3_prepare_v2(db, sql, n, out, tail);
    if (rc == SQLITE_OK && db == staying && !tail && n_kept < KEPT_MAX) {
        kept[n_kept].sql = strdup(sql);
        kept[n_kept].stmt = *out;
        kept[n_kept].taken = true;
        fuzz_want(kept[n_kept++].sql != NULL, "memory");
    }
    return rc;
}

int __wrap_sqlite3_finalize(sqlite3_stmt *stmt) {
    for (size_t i = 0; i < n_kept; i++)
        if (kept[i].stmt == stmt) {
            kept[i].taken = false;
            sqlite3_clear_bindings(stmt);
            return sqlite3_reset(stmt);
        }
    return __real_sqlite3_finalize(stmt);
}
