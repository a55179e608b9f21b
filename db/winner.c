/* Winners: one for each GPU and problem, with all that is needed to judge whether it still holds. */
#include "base/clock.h"
#include "db/conn.h"
#include "db/field.h"

tt_status tt__store_winner_put(tt__store *s, int64_t run_id, int64_t problem_id, int64_t config_id,
                               const tt__winner *w) {
    TT_TRY(tt__db_exec(s, TT__SQL_WINNER_PUT, "iiiddddiii", run_id, problem_id, config_id, w->time_us,
                       w->copy_us, w->copy_fraction, w->speedup_vs_default, w->trials, w->failed,
                       w->unix_ms ? w->unix_ms : tt__unix_ms()));
    if (sqlite3_changes(s->db) != 1)
        return tt__fail(TT_E_DB, "%s: cannot write a winner: there is no run %lld", s->path,
                        (long long)run_id);
    return TT_OK;
}

static void read_text(sqlite3_stmt *stmt, int at, char *out, size_t size) {
    const char *text = (const char *)sqlite3_column_text(stmt, at);
    tt__copy(out, size, text ? text : "");
}

static void read_winner(sqlite3_stmt *stmt, tt__winner *w) {
    *w = (tt__winner){0};
    int at = tt__fields_read(stmt, 0, tt__gpu_fields, TT__GPU_FIELDS, &w->gpu);
    at = tt__fields_read(stmt, at, tt__problem_fields, TT__PROBLEM_FIELDS, &w->problem);
    at = tt__fields_read(stmt, at, tt__env_fields, TT__ENV_FIELDS, &w->env);
    read_text(stmt, at++, w->kernel, sizeof w->kernel);
    read_text(stmt, at++, w->hash, sizeof w->hash);
    read_text(stmt, at++, w->config, sizeof w->config);
    tt__copy(w->source, sizeof w->source, tt__run_source_name(sqlite3_column_int(stmt, at++)));
    w->time_us = sqlite3_column_double(stmt, at++);
    w->copy_us = sqlite3_column_double(stmt, at++);
    w->copy_fraction = sqlite3_column_double(stmt, at++);
    w->speedup_vs_default = sqlite3_column_double(stmt, at++);
    w->trials = sqlite3_column_int64(stmt, at++);
    w->failed = sqlite3_column_int64(stmt, at++);
    w->unix_ms = sqlite3_column_int64(stmt, at++);
}

tt_status tt__store_winner_get(tt__store *s, int64_t gpu_id, int64_t problem_id, tt__winner *out,
                               bool *found) {
    sqlite3_stmt *stmt;
    *found = false;
    *out = (tt__winner){0};
    TT_TRY(tt__db_stmt(s, &stmt, TT__SQL_WINNER_GET, "ii", gpu_id, problem_id));
    tt_status status = tt__db_step(s, stmt, found);
    if (status == TT_OK && *found)
        read_winner(stmt, out);
    tt__db_done(stmt);
    return status;
}

tt_status tt__store_winners(tt__store *s, int64_t gpu_id, int cc, const char *op, int elem_size,
                            tt__winner_fn fn, void *user) {
    sqlite3_stmt *stmt;
    bool row;
    tt__sql sql = gpu_id ? TT__SQL_WINNERS_OF_GPU : TT__SQL_WINNERS_OF_CC;
    TT_TRY(tt__db_stmt(s, &stmt, sql, "iti", gpu_id ? gpu_id : (int64_t)cc, op, (int64_t)elem_size));
    tt_status status;
    while ((status = tt__db_step(s, stmt, &row)) == TT_OK && row) {
        tt__winner w;
        read_winner(stmt, &w);
        status = fn(user, &w);
        if (status != TT_OK)
            break;
    }
    tt__db_done(stmt);
    return status;
}

static tt_status keys(tt__store *s, sqlite3_stmt *stmt, tt__winner_key_fn fn, void *user) {
    tt_status status;
    bool row;
    while ((status = tt__db_step(s, stmt, &row)) == TT_OK && row) {
        tt__problem p;
        tt__fields_read(stmt, 3, tt__problem_fields, TT__PROBLEM_FIELDS, &p);
        status = fn(user, sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1),
                    sqlite3_column_int(stmt, 2), &p);
        if (status != TT_OK)
            break;
    }
    tt__db_done(stmt);
    return status;
}

tt_status tt__store_winner_keys(tt__store *s, int cc, const char *op, int elem_size, const tt__bounds *bounds,
                                tt__winner_key_fn fn, void *user) {
    sqlite3_stmt *stmt;
    TT_TRY(tt__db_stmt(s, &stmt, TT__SQL_WINNER_KEYS, "itiiiii", (int64_t)cc, op, (int64_t)elem_size,
                       bounds->rows[0], bounds->rows[1], bounds->cols[0], bounds->cols[1]));
    return keys(s, stmt, fn, user);
}

tt_status tt__store_kernel_keys(tt__store *s, const char *kernel, tt__winner_key_fn fn, void *user) {
    sqlite3_stmt *stmt;
    TT_TRY(tt__db_stmt(s, &stmt, TT__SQL_KERNEL_KEYS, "t", kernel));
    return keys(s, stmt, fn, user);
}
