/*
 * Takes a JSON file apart with SQLite's functions: checks that it is JSON, and loops over its arrays and
 * objects.
 */
#include <limits.h>
#include <stdio.h>

#include "db/exchange/import.h"

tt_status tt__import_sql_failed(tt__import *m) {
    int rc = sqlite3_errcode(m->db);
    if ((rc & 0xff) == SQLITE_NOMEM)
        return tt__fail_memory(m->text.len);
    return tt__fail(TT_E_INVALID, "%s: %s", m->path, sqlite3_errmsg(m->db));
}

tt_status tt__import_prepare(tt__import *m, sqlite3_stmt **stmt, const char *sql) {
    return sqlite3_prepare_v2(m->db, sql, -1, stmt, NULL) == SQLITE_OK ? TT_OK : tt__import_sql_failed(m);
}

tt_status tt__import_ask(tt__import *m, const char *sql, const char **text) {
    sqlite3_finalize(m->asked);
    m->asked = NULL;
    TT_TRY(tt__import_prepare(m, &m->asked, sql));
    if (sqlite3_bind_text(m->asked, 1, tt__str_text(&m->text), (int)m->text.len, SQLITE_STATIC) !=
            SQLITE_OK ||
        sqlite3_step(m->asked) != SQLITE_ROW)
        return tt__import_sql_failed(m);
    *text = tt__db_text(m->asked, 0);
    return TT_OK;
}

/* Steps through rows of (key, type, value), and resets the statement. */
static tt_status walk(tt__import *m, sqlite3_stmt *stmt, tt__member_fn fn, void *user) {
    tt_status status = TT_OK;
    int rc;
    for (int64_t i = 0; (rc = sqlite3_step(stmt)) == SQLITE_ROW && status == TT_OK; i++) {
        tt__member v = {.index = i,
                        .key = sqlite3_column_type(stmt, 0) == SQLITE_TEXT ? tt__db_text(stmt, 0) : NULL,
                        .type = tt__db_text(stmt, 1),
                        .number = sqlite3_column_double(stmt, 2)};
        v.json = tt__db_text(stmt, 2);
        v.len = sqlite3_column_bytes(stmt, 2);
        if (!v.json)
            v.json = ""; /* null */
        status = v.type ? fn(m, user, &v) : tt__fail_memory(0);
        if (status != TT_OK)
            break;
    }
    if (status == TT_OK && rc != SQLITE_DONE)
        status = tt__import_sql_failed(m);
    sqlite3_reset(stmt);
    return status;
}

tt_status tt__import_walk_text(tt__import *m, sqlite3_stmt *stmt, const char *json, int len, tt__member_fn fn,
                               void *user) {
    if (sqlite3_bind_text(stmt, 1, json, len, SQLITE_STATIC) != SQLITE_OK)
        return tt__import_sql_failed(m);
    tt_status status = walk(m, stmt, fn, user);
    sqlite3_clear_bindings(stmt);
    return status;
}

tt_status tt__import_walk_file(tt__import *m, const char *where, const char *type, tt__member_fn fn,
                               void *user) {
    sqlite3_stmt *stmt = NULL;
    const char *actual = NULL;
    char sql[96];
    snprintf(sql, sizeof sql, "SELECT json_type(?1, '$.%s')", where);
    TT_TRY(tt__import_ask(m, sql, &actual));
    if (!actual || strcmp(actual, type) != 0)
        return tt__fail(TT_E_INVALID, "%s: %s is %s: expected an %s, as `tune export` writes it", m->path,
                        where, actual ? actual : "missing", type);
    sqlite3_reset(m->asked); /* it holds a parse of all the text, and the walk makes another */
    snprintf(sql, sizeof sql, "SELECT key, type, value FROM json_each(?1, '$.%s')", where);
    TT_TRY(tt__import_prepare(m, &stmt, sql));
    tt_status status = tt__import_walk_text(m, stmt, m->text.text, (int)m->text.len, fn, user);
    sqlite3_finalize(stmt);
    return status;
}

/* Call it after json_valid: SQLite 3.40 accepts {["a"]: 1} as JSON, and then reads out of bounds. */
static bool json_keys_are_strings(const char *at) {
    enum { DEPTH_MAX = 2000 }; /* SQLite's own */
    char open[DEPTH_MAX];
    size_t depth = 0;
    bool key = false; /* a key comes next, or the object ends */
    for (; *at; at++) {
        if (strchr(" \t\r\n", *at))
            continue;
        if (key && *at != '"' && *at != '}')
            return false;
        key = *at == '{' || (*at == ',' && depth && open[depth - 1] == '{');
        if (*at == '"') {
            for (at++; *at && *at != '"'; at++)
                at += *at == '\\' && at[1];
            if (!*at)
                return false;
        } else if (*at == '{' || *at == '[') {
            if (depth == DEPTH_MAX)
                return false;
            open[depth++] = *at;
        } else if (*at == '}' || *at == ']') {
            depth -= depth > 0;
        }
    }
    return true;
}

static tt_status is_json(tt__import *m, bool *yes) {
    const char *valid;
    TT_TRY(tt__import_ask(m, "SELECT json_valid(?1)", &valid));
    *yes = sqlite3_column_int(m->asked, 0) && json_keys_are_strings(tt__str_text(&m->text));
    return TT_OK;
}

/* While Kernel Tuner runs, its cache file ends with a comma. */
static tt_status end_cache(tt__import *m) {
    while (m->text.len && strchr(" \t\r\n", m->text.text[m->text.len - 1]))
        m->text.len--;
    m->text.len -= m->text.len && m->text.text[m->text.len - 1] == ',';
    tt__str_add(&m->text, "}}");
    return tt__str_check(&m->text);
}

tt_status tt__import_check_json(tt__import *m) {
    bool yes;
    size_t len = m->text.len, nul = m->text.text ? strlen(m->text.text) : 0;
    if (nul != m->text.len)
        return tt__fail(TT_E_INVALID, "%s: not JSON: a NUL byte at offset %zu", m->path, nul);
    if (m->text.len > INT_MAX)
        return tt__fail(TT_E_INVALID, "%s: %zu bytes: too large for a recording", m->path, m->text.len);
    TT_TRY(is_json(m, &yes));
    if (!yes && strstr(tt__str_text(&m->text), "\"cache\"")) {
        TT_TRY(end_cache(m));
        TT_TRY(is_json(m, &yes));
    }
    return yes ? TT_OK
               : tt__fail(TT_E_INVALID, "%s: not valid JSON (%zu bytes): is the file complete?", m->path,
                          len);
}
