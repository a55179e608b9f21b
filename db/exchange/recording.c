/*
 * A recording that was read: a store in memory, with one statement for each question. db/exchange/import.c
 * fills it.
 */
#include "db/exchange/recording.h"

#include <stdlib.h>

#include "db/exchange/import.h"

const char *const tt__t4_words[TT__TRIAL_STATUS_COUNT] = {
    [TT__TRIAL_OK] = "correct",
    [TT__TRIAL_COMPILE_ERROR] = "compile",
    [TT__TRIAL_LAUNCH_ERROR] = "runtime",
    [TT__TRIAL_WRONG_RESULT] = "correctness",
    [TT__TRIAL_TIMEOUT] = "timeout",
    [TT__TRIAL_CRASHED] = "runtime",
    [TT__TRIAL_SKIPPED] = "constraints",
    [TT__TRIAL_COMPILE_TIMEOUT] = "timeout",
    [TT__TRIAL_COMPILER_CRASHED] = "compile",
};

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

size_t tt__recording_left_out(const tt__recording *r, const char **why) {
    *why = r->left_out;
    return r->n_left_out;
}

tt_status tt__recording_problems(const tt__recording *r, const char *op, tt__problem_fn fn, void *user) {
    sqlite3_stmt *stmt;
    tt_status status = tt__db_stmt(r->store, &stmt, TT__SQL_RECORDED_PROBLEMS, "t", op);
    while (tt__db_next(r->store, stmt, &status)) {
        tt__problem p;
        status = tt__db_problem_read(r->store, stmt, 0, &p);
        if (status == TT_OK)
            status = fn(user, &p);
    }
    return status;
}

tt_status tt__recording_has(const tt__recording *r, const tt__problem *p, bool *has) {
    int64_t id, one;
    *has = false;
    TT_TRY(tt__store_known_problem(r->store, p, &id));
    TT_TRY(tt__db_int(r->store, &one, 0, TT__SQL_RECORDED_PROBLEM, "i", id));
    *has = one != 0;
    return TT_OK;
}

tt_status tt__recording_trial(const tt__recording *r, const tt__problem *p, const char *kernel,
                              const char *config, tt__stage stage, tt__trial *out, bool *found) {
    sqlite3_stmt *stmt;
    int64_t id;
    *found = false;
    *out = (tt__trial){0};
    TT_TRY(tt__store_known_problem(r->store, p, &id));
    TT_TRY(tt__db_stmt(r->store, &stmt, TT__SQL_RECORDED_TRIAL, "itti", id, kernel, config, (int64_t)stage));
    tt_status status = tt__db_step(r->store, stmt, found);
    if (status == TT_OK && *found)
        status = tt__trial_read(r->store, stmt, out);
    tt__db_done(stmt);
    return status;
}
