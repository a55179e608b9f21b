/* A recording that was read: a store in memory, with one statement for each question. db/import.c fills
 * it. */
#include "db/recording.h"

#include <stdlib.h>

#include "db/import.h"

void tt__recording_close(tt__recording **r) {
    if (!*r)
        return;
    tt__store_close(&(*r)->store);
    free((*r)->kernels);
    free(*r);
    *r = NULL;
}

tt__store *tt__recording_store(tt__recording *r) {
    return r->store;
}

const tt__gpu *tt__recording_gpu(const tt__recording *r) {
    return &r->gpu;
}

const tt__env *tt__recording_env(const tt__recording *r) {
    return &r->env;
}

const char *tt__recording_hash(const tt__recording *r, const char *kernel) {
    for (size_t i = 0; i < r->n_kernels; i++)
        if (strcmp(r->kernels[i].kernel, kernel) == 0)
            return r->kernels[i].hash;
    return NULL;
}

tt_status tt__recording_problems(const tt__recording *r, const char *op, tt__str *out) {
    sqlite3_stmt *stmt;
    bool row;
    TT_TRY(tt__db_stmt(r->store, &stmt, TT__SQL_RECORDED_SIZES, "t", op));
    tt_status status;
    for (const char *comma = ""; (status = tt__db_step(r->store, stmt, &row)) == TT_OK && row; comma = ", ")
        tt__str_addf(out, "%s%lldx%lld of %lld bytes", comma, (long long)sqlite3_column_int64(stmt, 0),
                     (long long)sqlite3_column_int64(stmt, 1), (long long)sqlite3_column_int64(stmt, 2));
    tt__db_done(stmt);
    return status == TT_OK ? tt__str_check(out) : status;
}

/* A statement whose first parameters are a problem. */
static tt_status ask(const tt__recording *r, sqlite3_stmt **stmt, tt__sql sql, const tt__problem *p) {
    TT_TRY(tt__db_stmt(r->store, stmt, sql, ""));
    int rc = tt__fields_bind(*stmt, 1, tt__problem_fields, TT__PROBLEM_FIELDS, p);
    return rc == SQLITE_OK ? TT_OK : tt__db_fail(r->store, rc, "bind a value");
}

tt_status tt__recording_has(const tt__recording *r, const tt__problem *p, bool *has) {
    sqlite3_stmt *stmt;
    *has = false;
    tt_status status = ask(r, &stmt, TT__SQL_RECORDED_PROBLEM, p);
    if (status == TT_OK)
        status = tt__db_step(r->store, stmt, has);
    tt__db_done(stmt);
    return status;
}

tt_status tt__recording_trial(const tt__recording *r, const tt__problem *p, const char *kernel,
                              const char *config, tt__stage stage, tt__trial *out, bool *found) {
    sqlite3_stmt *stmt;
    int rc;
    *found = false;
    *out = (tt__trial){0};
    tt_status status = ask(r, &stmt, TT__SQL_RECORDED_TRIAL, p);
    if (status == TT_OK &&
        ((rc = sqlite3_bind_text(stmt, TT__PROBLEM_FIELDS + 1, kernel, -1, SQLITE_STATIC)) != SQLITE_OK ||
         (rc = sqlite3_bind_text(stmt, TT__PROBLEM_FIELDS + 2, config, -1, SQLITE_STATIC)) != SQLITE_OK ||
         (rc = sqlite3_bind_int64(stmt, TT__PROBLEM_FIELDS + 3, stage)) != SQLITE_OK))
        status = tt__db_fail(r->store, rc, "bind a value");
    if (status == TT_OK)
        status = tt__db_step(r->store, stmt, found);
    if (status == TT_OK && *found)
        status = tt__trial_read(r->store, stmt, out);
    tt__db_done(stmt);
    return status;
}
