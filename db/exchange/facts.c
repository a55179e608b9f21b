/* See the header. */
#include "db/exchange/facts.h"

#include "base/clean.h"
#include "base/clock.h"
#include "db/field.h"

tt_status tt__store_peaks_put(tt__store *s, int64_t gpu_id, const tt__peaks *p) {
    return tt__db_exec(s, TT__SQL_PEAK_PUT, "iddddddi", gpu_id, p->copy_gbps, p->l2_gbps, p->fp32_gflops,
                       p->fp64_gflops, p->fp16_gflops, p->tensor_gflops, tt__unix_ms());
}

tt_status tt__store_peaks_get(tt__store *s, int64_t gpu_id, tt__peaks *out) {
    sqlite3_stmt *stmt;
    *out = (tt__peaks){0};
    tt_status status = tt__db_stmt(s, &stmt, TT__SQL_PEAK_GET, "i", gpu_id);
    if (tt__db_next(s, stmt, &status) && tt__checked_peaks(stmt, 0, out) != TT_OK)
        *out = (tt__peaks){0}; /* another program's numbers */
    tt__db_done(stmt);
    return status;
}

tt_status tt__store_flop_put(tt__store *s, int64_t problem_id, double flop) {
    return tt__db_exec(s, TT__SQL_FLOP_PUT, "id", problem_id, flop);
}

tt_status tt__store_flop_get(tt__store *s, int64_t problem_id, double *flop) {
    sqlite3_stmt *stmt;
    bool row;
    TT_TRY(tt__db_stmt(s, &stmt, TT__SQL_FLOP_GET, "i", problem_id));
    tt_status status = tt__db_step(s, stmt, &row);
    *flop = row ? sqlite3_column_double(stmt, 0) : 0;
    *flop = *flop > 0 && *flop < 1e30 ? *flop : 0;
    tt__db_done(stmt);
    return status;
}

tt_status tt__store_energy_put(tt__store *s, int64_t gpu_id, int64_t problem_id, int64_t config_id,
                               const tt__energy *e) {
    return tt__db_exec(s, TT__SQL_ENERGY_PUT, "iiidddddi", gpu_id, problem_id, config_id, e->time_us,
                       e->joules, e->noise, e->idle_watts, e->celsius, tt__unix_ms());
}

tt_status tt__store_energies(tt__store *s, int64_t gpu_id, int64_t problem_id, tt__energy_fn fn, void *user) {
    sqlite3_stmt *stmt;
    tt_status status = tt__db_stmt(s, &stmt, TT__SQL_ENERGIES, "ii", gpu_id, problem_id);
    while (tt__db_next(s, stmt, &status)) {
        char kernel[TT__NAME_MAX], config[TT__CONFIG_MAX];
        tt__energy e;
        if (tt__checked_energy(stmt, 0, &e) != TT_OK)
            continue; /* likewise */
        tt__text_read(stmt, TT__ENERGY_FIELDS, kernel, sizeof kernel, TT__CLEAN_NAME);
        tt__text_read(stmt, TT__ENERGY_FIELDS + 1, config, sizeof config, TT__CLEAN_NAME);
        status = fn(user, kernel, config, &e);
    }
    return status;
}

tt_status tt__store_unsolved(tt__store *s, int64_t gpu_id, const char *op, tt__unsolved_fn fn, void *user) {
    sqlite3_stmt *stmt;
    tt_status status = tt__db_stmt(s, &stmt, TT__SQL_UNSOLVED, "it", gpu_id, op);
    while (tt__db_next(s, stmt, &status)) {
        tt__unsolved u = {0};
        int at = tt__fields_read(stmt, 0, tt__gpu_fields, TT__GPU_FIELDS, &u.gpu);
        status = tt__db_problem_read(s, stmt, at, &u.problem);
        at += TT__PROBLEM_COL_COUNT;
        u.tried = sqlite3_column_int64(stmt, at++);
        u.passed = sqlite3_column_int64(stmt, at++);
        int kind = sqlite3_column_int(stmt, at++);
        u.status = kind > 0 && kind < TT__TRIAL_STATUS_COUNT ? (tt__trial_status)kind : TT__TRIAL_SKIPPED;
        tt__text_read(stmt, at++, u.reason, sizeof u.reason, TT__CLEAN_TEXT);
        tt__text_read(stmt, at++, u.kernel, sizeof u.kernel, TT__CLEAN_NAME);
        tt__text_read(stmt, at++, u.config, sizeof u.config, TT__CLEAN_NAME);
        if (status == TT_OK)
            status = fn(user, &u);
    }
    return status;
}
