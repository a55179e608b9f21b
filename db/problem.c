/*
 * Problems: a row with the operation, and a row for the value of each variable. They are found by a key made
 * of all values.
 */
#include <stdio.h>

#include "db/field.h"

/* ---- Out of the store ------------------------------------------------------------------------ */

static const char *type_name(int sqlite_type) {
    static const char *const names[] = {[SQLITE_INTEGER] = "an integer",
                                        [SQLITE_FLOAT] = "a fraction",
                                        [SQLITE_TEXT] = "a text",
                                        [SQLITE_BLOB] = "a BLOB",
                                        [SQLITE_NULL] = "missing"};
    return names[sqlite_type];
}

/* Reads a text that fits and has no NUL. */
static tt_status read_text(sqlite3_stmt *stmt, int at, const char *what, char *out, size_t size) {
    int type = sqlite3_column_type(stmt, at);
    if (type != SQLITE_TEXT)
        return tt__fail(TT_E_INVALID, "%s is %s: expected a text", what, type_name(type));
    const char *text = tt__db_text(stmt, at);
    size_t n = (size_t)sqlite3_column_bytes(stmt, at);
    if (!text)
        return tt__fail_memory(0);
    if (n >= size || strlen(text) != n)
        return tt__fail(TT_E_INVALID, "%s has %zu bytes: expected less than %zu, and no NUL", what, n, size);
    memcpy(out, text, n + 1);
    return TT_OK;
}

static tt_status read_flag(sqlite3_stmt *stmt, int at, const char *what, bool *out) {
    int64_t value = sqlite3_column_int64(stmt, at);
    if (sqlite3_column_type(stmt, at) != SQLITE_INTEGER || value < 0 || value > 1)
        return tt__fail(TT_E_INVALID, "%s is %lld: expected 0 or 1", what, (long long)value);
    *out = value == 1;
    return TT_OK;
}

static tt_status read_setting(sqlite3_stmt *row, tt__setting *out) {
    TT_TRY(read_text(row, 0, "the name of a variable", out->name, sizeof out->name));
    int type = sqlite3_column_type(row, 1);
    if (type == SQLITE_INTEGER) {
        out->number = sqlite3_column_int64(row, 1);
        return TT_OK;
    }
    const char *text = type == SQLITE_TEXT ? tt__db_text(row, 1) : NULL;
    out->type = text ? tt__type_named(text, (size_t)sqlite3_column_bytes(row, 1)) : TT__TYPE_NONE;
    if (out->type == TT__TYPE_NONE)
        return tt__fail(TT_E_INVALID, "%s is %s%s%.40s: expected an integer or an element type", out->name,
                        type_name(type), text ? ", " : "", text ? text : "");
    return TT_OK;
}

static tt_status read_settings(tt__store *s, int64_t id, tt__problem *p) {
    sqlite3_stmt *stmt;
    tt_status status = tt__db_stmt(s, &stmt, TT__SQL_VALUES, "i", id);
    while (tt__db_next(s, stmt, &status)) {
        if (p->n == TT__VARIABLES_MAX)
            status = tt__fail(TT_E_INVALID, "more than %d variables", TT__VARIABLES_MAX);
        else
            status = read_setting(stmt, &p->settings[p->n++]);
    }
    return status;
}

tt_status tt__checked_problem(tt__store *s, sqlite3_stmt *stmt, int at, tt__problem *out) {
    *out = (tt__problem){0};
    TT_TRY(read_text(stmt, at, "operation", out->op, sizeof out->op));
    TT_TRY(read_text(stmt, at + 1, "the hash of its text", out->text, sizeof out->text));
    TT_TRY(read_flag(stmt, at + 2, "warm", &out->warm));
    TT_TRY(read_flag(stmt, at + 3, "unverified", &out->unverified));
    out->moved_bytes = sqlite3_column_double(stmt, at + 5);
    TT_TRY(read_settings(s, sqlite3_column_int64(stmt, at + 4), out));
    return tt__check_problem(out);
}

tt_status tt__db_problem_read(tt__store *s, sqlite3_stmt *stmt, int at, tt__problem *out) {
    char doing[40];
    tt_status status = tt__checked_problem(s, stmt, at, out);
    if (status != TT_E_INVALID)
        return status;
    snprintf(doing, sizeof doing, "read problem %lld", (long long)sqlite3_column_int64(stmt, at + 4));
    return tt__db_fail_damaged(s, doing, tt_last_error());
}

/* ---- Found, or added ------------------------------------------------------------------------- */

/* *moved is the number of bytes in the store. */
static tt_status find(tt__store *s, const tt__problem *p, const char *key, int64_t *id, double *moved) {
    sqlite3_stmt *stmt;
    bool row;
    *id = -1;
    TT_TRY(tt__db_stmt(s, &stmt, TT__SQL_PROBLEM_FIND, "tttii", p->op, p->text, key, (int64_t)p->warm,
                       (int64_t)p->unverified));
    tt_status status = tt__db_step(s, stmt, &row);
    if (status == TT_OK && row)
        *id = sqlite3_column_int64(stmt, 0);
    *moved = *id >= 0 ? sqlite3_column_double(stmt, 1) : 0;
    tt__db_done(stmt);
    return status;
}

static tt_status add_setting(tt__store *s, int64_t id, int64_t place, const tt__setting *v) {
    if (v->type == TT__TYPE_NONE)
        return tt__db_exec(s, TT__SQL_VALUE_ADD, "iiti", id, place, v->name, v->number);
    return tt__db_exec(s, TT__SQL_VALUE_ADD, "iitt", id, place, v->name, tt__types[v->type].name);
}

static tt_status add(tt__store *s, const tt__problem *p, const char *key, int64_t *id) {
    double moved;
    TT_TRY(find(s, p, key, id, &moved)); /* again, because another process may have added it */
    if (*id >= 0)
        return TT_OK;
    TT_TRY(tt__db_exec(s, TT__SQL_OPERATION_ADD, "tt", p->op, p->text));
    int64_t numbers[2] = {0};
    for (int i = 0, n = 0; i < p->n && n < 2; i++)
        if (p->settings[i].type == TT__TYPE_NONE)
            numbers[n++] = p->settings[i].number;
    TT_TRY(tt__db_exec(s, TT__SQL_PROBLEM_ADD, "tttiidii", p->op, p->text, key, (int64_t)p->warm,
                       (int64_t)p->unverified, p->moved_bytes, numbers[0], numbers[1]));
    *id = sqlite3_last_insert_rowid(s->db);
    for (int i = 0; i < p->n; i++)
        TT_TRY(add_setting(s, *id, i, &p->settings[i]));
    return TT_OK;
}

static tt_status find_or_add(tt__store *s, const tt__problem *p, bool may_add, int64_t *id) {
    tt__str key = {0};
    bool own;
    double moved = 0;
    *id = -1;
    tt__problem_add_settings(&key, p, ",");
    tt_status status = tt__str_check(&key);
    if (status == TT_OK)
        status = find(s, p, tt__str_text(&key), id, &moved);
    if (status == TT_OK && *id < 0 && may_add) {
        status = tt__check_problem(p); /* a problem that could not be read back must not be written */
        if (status == TT_OK && (status = tt__db_begin(s, &own)) == TT_OK)
            status = tt__db_end(s, own, add(s, p, tt__str_text(&key), id));
    } else if (status == TT_OK && may_add && p->moved_bytes > 0 && !(moved > 0)) {
        status = tt__db_exec(s, TT__SQL_PROBLEM_MOVES, "id", *id, p->moved_bytes); /* it was unknown before */
    }
    tt__str_free(&key);
    return status;
}

tt_status tt__store_problem(tt__store *s, const tt__problem *p, int64_t *id) {
    return find_or_add(s, p, s->mode != TT__STORE_READ_ONLY, id);
}

tt_status tt__store_known_problem(tt__store *s, const tt__problem *p, int64_t *id) {
    return find_or_add(s, p, false, id);
}

/* The key has all values in one text, which takes no statement of its own for each problem. */
tt_status tt__store_problems(tt__store *s, tt__stored_problem_fn fn, void *user) {
    sqlite3_stmt *stmt;
    tt__problem p = {0};
    tt_status status = tt__db_stmt(s, &stmt, TT__SQL_PROBLEMS, "");
    while (tt__db_next(s, stmt, &status)) {
        const char *key = tt__db_text(stmt, TT__PROBLEM_COL_COUNT);
        bool good = key && read_text(stmt, 0, "operation", p.op, sizeof p.op) == TT_OK &&
                    read_text(stmt, 1, "the hash of its text", p.text, sizeof p.text) == TT_OK &&
                    read_flag(stmt, 2, "warm", &p.warm) == TT_OK &&
                    read_flag(stmt, 3, "unverified", &p.unverified) == TT_OK &&
                    tt__problem_take_settings(&p, key);
        p.moved_bytes = sqlite3_column_double(stmt, 5);
        if (good && p.moved_bytes >= 0 && p.moved_bytes <= 0x1p60)
            status = fn(user, sqlite3_column_int64(stmt, 4), &p);
    }
    return status;
}
