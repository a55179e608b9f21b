/*
 * Runs, where they come from, and trials. Times are stored as whole tenths of a nanosecond. Samples are
 * stored as differences from the median, two or three bytes each, so that a million trials fit in 100 MB.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clean.h"
#include "base/clock.h"
#include "base/number.h"
#include "db/conn.h"

#define UNITS_PER_US 1e4 /* 0.1 ns */
#define TIME_MAX_US  1e12

static const char *const source_names[] = {"measured", "replayed", "imported"};
enum { SOURCES = TT__COUNT(source_names) };

const char *tt__run_source_name(int source) {
    return source >= 0 && source < SOURCES ? source_names[source] : "unknown";
}

/* ---- Runs ------------------------------------------------------------------------------------ */

tt_status tt__run_add(tt__store *s, int64_t gpu_id, const tt__env *env, const char *source,
                      int64_t started_ms, const tt__origin *origin, int64_t *run_id) {
    int64_t kind = 0, env_id;
    bool own;
    *run_id = -1;
    while (kind < SOURCES && strcmp(source_names[kind], source) != 0)
        kind++;
    if (kind == SOURCES)
        return tt__fail(TT_E_INVALID, "run source \"%s\": expected measured, replayed or imported", source);
    TT_TRY(tt__db_begin(s, &own));
    tt_status status = tt__env_id(s, env, &env_id);
    if (status == TT_OK)
        status = tt__db_exec(s, TT__SQL_RUN_ADD, "iiiittt", gpu_id, env_id, kind, started_ms, origin->who,
                             origin->program, origin->file);
    if (status == TT_OK)
        *run_id = sqlite3_last_insert_rowid(s->db);
    return tt__db_end(s, own, status);
}

tt_status tt__store_run_begin(tt__store *s, int64_t gpu_id, const tt__env *env, const char *source,
                              int64_t *run_id) {
    tt__origin here;
    tt__origin_here(&here);
    return tt__run_add(s, gpu_id, env, source, tt__unix_ms(), &here, run_id);
}

tt_status tt__store_run_end(tt__store *s, int64_t run_id) {
    return tt__db_exec(s, TT__SQL_RUN_END, "ii", run_id, tt__unix_ms());
}

void tt__origin_here(tt__origin *out) {
    char host[64] = "";
    const char *who = secure_getenv("TILETUNE_WHO"), *user = secure_getenv("USER");
    *out = (tt__origin){.who = ""};
    tt__format(out->program, sizeof out->program, "%s %s", TT_VERSION, tt__commit);
    if (who) {
        tt__format(out->who, sizeof out->who, "%s", who);
    } else {
        gethostname(host, sizeof host - 1);
        tt__format(out->who, sizeof out->who, "%s%s%s", user ? user : "", user && *user ? "@" : "", host);
    }
    tt__clean(out->who, "");
}

void tt__origin_read(tt__origin *out, sqlite3_stmt *stmt, int at) {
    tt__text_read(stmt, at, out->who, sizeof out->who, TT__CLEAN_NAME);
    tt__text_read(stmt, at + 1, out->program, sizeof out->program, TT__CLEAN_NAME);
    tt__text_read(stmt, at + 2, out->file, sizeof out->file, TT__CLEAN_NAME);
}

tt_status tt__store_origin(tt__store *s, int64_t gpu_id, int64_t problem_id, tt__origin *out) {
    sqlite3_stmt *stmt;
    *out = (tt__origin){.who = ""};
    tt_status status = tt__db_stmt(s, &stmt, TT__SQL_WINNER_ORIGIN, "ii", gpu_id, problem_id);
    if (tt__db_next(s, stmt, &status))
        tt__origin_read(out, stmt, 0);
    tt__db_done(stmt);
    return status;
}

/* ---- Samples --------------------------------------------------------------------------------- */

enum { VARINT_MAX = 10, SAMPLES_BYTES = TT__SAMPLES_MAX * VARINT_MAX };

static int64_t units(double us) {
    return llround(us * UNITS_PER_US);
}

static size_t encode(unsigned char out[SAMPLES_BYTES], int64_t base, const tt__trial *t) {
    size_t n = 0;
    for (int i = 0; i < t->n_samples; i++) {
        int64_t delta = units((double)t->samples_us[i]) - base;
        uint64_t zigzag = (uint64_t)delta << 1 ^ (delta < 0 ? UINT64_MAX : 0);
        for (; zigzag >= 0x80; zigzag >>= 7)
            out[n++] = (unsigned char)(zigzag | 0x80);
        out[n++] = (unsigned char)zigzag;
    }
    return n;
}

void tt__db_n_samples(sqlite3_context *out, int n, sqlite3_value **values) {
    const unsigned char *in = sqlite3_value_blob(values[0]);
    int size = sqlite3_value_bytes(values[0]), ends = 0;
    for (int at = 0; in && n && at < size; at++)
        ends += !(in[at] & 0x80);
    sqlite3_result_int(out, ends);
}

static bool decode(const unsigned char *in, size_t size, int64_t base, tt__trial *t) {
    uint64_t zigzag = 0;
    int shift = 0;
    for (size_t at = 0; at < size; at++) {
        if (shift > 63 || t->n_samples == TT__SAMPLES_MAX)
            return false;
        zigzag |= (uint64_t)(in[at] & 0x7f) << shift;
        shift += 7;
        if (in[at] & 0x80)
            continue;
        uint64_t delta = zigzag >> 1 ^ (0 - (zigzag & 1));
        t->samples_us[t->n_samples++] = (float)((double)(int64_t)((uint64_t)base + delta) / UNITS_PER_US);
        zigzag = 0;
        shift = 0;
    }
    return shift == 0;
}

/* ---- Trials ---------------------------------------------------------------------------------- */

tt_status tt__trial_check(const tt__trial *t) {
    if ((unsigned)t->status >= TT__TRIAL_STATUS_COUNT)
        return tt__fail(TT_E_INVALID, "trial status %d: there is no such status", (int)t->status);
    if (t->n_samples < 0 || t->n_samples > TT__SAMPLES_MAX)
        return tt__fail(TT_E_INVALID, "trial with %d samples: expected 0 to %d", t->n_samples,
                        TT__SAMPLES_MAX);
    if (!(t->time_us >= 0 && t->time_us <= TIME_MAX_US) ||
        !(t->compile_ms >= 0 && t->compile_ms <= TIME_MAX_US))
        return tt__fail(TT_E_INVALID, "trial with a time of %g us, compiled in %g ms: expected 0 or more",
                        t->time_us, t->compile_ms);
    if (!(t->limit_s >= 0 && t->limit_s <= TIME_MAX_US))
        return tt__fail(TT_E_INVALID, "trial with a limit of %g s: expected 0 or more", t->limit_s);
    if (!(t->weight >= 0 && t->weight <= TT__WEIGHT_MAX))
        return tt__fail(TT_E_INVALID, "trial with a weight of %g: expected 0 to %g", t->weight,
                        TT__WEIGHT_MAX);
    if (t->bits < 0)
        return tt__fail(TT_E_INVALID, "trial with the bits %lld: expected 0 or more", (long long)t->bits);
    for (int i = 0; i < t->n_samples; i++)
        if (!(t->samples_us[i] >= 0 && (double)t->samples_us[i] <= TIME_MAX_US))
            return tt__fail(TT_E_INVALID, "trial with a sample of %g us: expected 0 or more",
                            (double)t->samples_us[i]);
    return TT_OK;
}

tt_status tt__store_trial_put(tt__store *s, int64_t run_id, int64_t problem_id, int64_t config_id,
                              tt__stage stage, const tt__trial *trial) {
    unsigned char samples[SAMPLES_BYTES];
    char reason[TT__REASON_MAX];
    TT_TRY(tt__trial_check(trial));
    tt__copy(reason, sizeof reason, trial->reason);
    tt__clean(reason, TT__CLEAN_TEXT);
    int64_t time = units(trial->time_us);
    size_t size = encode(samples, time, trial);
    int64_t at_ms = tt__unix_ms();
    if (stage == TT__STAGE_SCREEN) /* no two have the same time, so their order is known */
        s->screened_ms = at_ms = at_ms > s->screened_ms ? at_ms : s->screened_ms + 1;
    return tt__db_exec(s, TT__SQL_TRIAL_PUT, "iiiiiiiiibtddi", problem_id, (int64_t)stage, config_id, run_id,
                       at_ms, (int64_t)trial->status, time, (int64_t)llround(trial->compile_ms * 1e3),
                       (int64_t)trial->regs, size ? (const void *)samples : NULL, size,
                       *reason ? reason : NULL, trial->weight > 0 ? trial->weight : 1.0, trial->limit_s,
                       trial->status == TT__TRIAL_OK ? trial->bits : 0);
}

tt_status tt__trial_read(tt__store *s, sqlite3_stmt *stmt, tt__trial *out) {
    int64_t status = sqlite3_column_int64(stmt, 0), time = sqlite3_column_int64(stmt, 1);
    int64_t regs = sqlite3_column_int64(stmt, 3), bits = sqlite3_column_int64(stmt, 8);
    double weight = sqlite3_column_double(stmt, 6), limit_s = sqlite3_column_double(stmt, 7);
    const unsigned char *samples = sqlite3_column_blob(stmt, 4);
    int size = sqlite3_column_bytes(stmt, 4);
    char values[160];
    *out = (tt__trial){0};
    if (status < 0 || status >= TT__TRIAL_STATUS_COUNT || time < 0 || regs < 0 || regs > INT_MAX ||
        bits < 0 || !(weight > 0) || !(limit_s >= 0) || (size && !samples) ||
        !decode(samples, (size_t)size, time, out)) {
        tt__format(values, sizeof values,
                   "status %lld, time %lld, %lld registers, weight %g, %d bytes of samples",
                   (long long)status, (long long)time, (long long)regs, weight, size);
        return tt__db_fail_damaged(s, "read a trial", values);
    }
    out->status = (tt__trial_status)status;
    out->time_us = (double)time / UNITS_PER_US;
    out->compile_ms = (double)sqlite3_column_int64(stmt, 2) * 1e-3;
    out->regs = (int)regs;
    out->weight = weight;
    out->limit_s = limit_s;
    out->bits = bits;
    tt__text_read(stmt, 5, out->reason, sizeof out->reason, TT__CLEAN_TEXT);
    return TT_OK;
}

tt_status tt__store_trials(tt__store *s, int64_t gpu_id, const tt__env *env, int64_t problem_id,
                           tt__stage stage, tt__trial_fn fn, void *user) {
    enum { KERNEL = TT__TRIAL_COL_COUNT, HASH, CONFIG, SOURCE, RUN, AT };
    sqlite3_stmt *stmt;
    tt_status status =
        tt__db_stmt(s, &stmt, TT__SQL_TRIALS, "tttiii", env ? env->driver : NULL, env ? env->nvrtc : NULL,
                    env ? env->library : NULL, gpu_id, problem_id, (int64_t)stage);
    while (tt__db_next(s, stmt, &status)) {
        tt__trial trial;
        status = tt__trial_read(s, stmt, &trial);
        tt__trial_row r = {
            .kernel = tt__db_text(stmt, KERNEL),
            .hash = tt__db_text(stmt, HASH),
            .config = tt__db_text(stmt, CONFIG),
            .source = tt__run_source_name(sqlite3_column_int(stmt, SOURCE)),
            .stage = stage,
            .run_id = sqlite3_column_int64(stmt, RUN),
            .unix_ms = sqlite3_column_int64(stmt, AT),
            .trial = &trial,
        };
        if (status == TT_OK && (!r.kernel || !r.hash || !r.config))
            status = tt__fail_memory(0);
        if (status == TT_OK)
            status = fn(user, &r);
    }
    return status;
}

tt_status tt__store_last_trial(tt__store *s, int64_t gpu_id, int64_t problem_id, const char *kernel,
                               const char *hash, const char *config, const char *driver, tt__trial *out,
                               bool *found) {
    sqlite3_stmt *stmt;
    TT_TRY(tt__db_stmt(s, &stmt, TT__SQL_LAST_TRIAL, "itttitt", problem_id, kernel, hash, config, gpu_id,
                       TT__METHOD, driver));
    tt_status status = tt__db_step(s, stmt, found);
    if (status == TT_OK && *found)
        status = tt__trial_read(s, stmt, out);
    tt__db_done(stmt);
    return status;
}

/* The text of `of` is that of the operation. */
static tt_status was_ever_wrong(tt__store *s, const char *kernel, const char *hash, const char *config,
                                const tt__problem *of, bool *wrong) {
    sqlite3_stmt *stmt;
    TT_TRY(tt__db_stmt(s, &stmt, TT__SQL_EVER_WRONG, "tttt", kernel, hash, config, of->text));
    tt_status status = tt__db_step(s, stmt, wrong);
    tt__db_done(stmt);
    return status;
}

/* Both problems have the variables of one operation, in its order. */
tt_status tt__store_covers(tt__store *s, const char *kernel, const char *hash, const char *config,
                           const tt__problem *of, const tt__problem *asked, bool *covers) {
    bool wrong;
    TT_TRY(was_ever_wrong(s, kernel, hash, config, of, &wrong));
    *covers = !wrong && of->n == asked->n;
    for (int i = 0; i < of->n && *covers; i++) {
        const tt__setting *is = &of->settings[i], *other = &asked->settings[i];
        sqlite3_stmt *stmt;
        if (is->type != TT__TYPE_NONE || is->number == other->number)
            continue;
        TT_TRY(tt__db_stmt(s, &stmt, TT__SQL_COVERS, "ttttti", kernel, hash, config, of->text, is->name,
                           is->number));
        tt_status status = tt__db_step(s, stmt, covers);
        tt__db_done(stmt);
        TT_TRY(status);
    }
    return TT_OK;
}

tt_status tt__store_finals_runs(tt__store *s, int64_t gpu_id, int64_t problem_id, int64_t *n) {
    return tt__db_int(s, n, 0, TT__SQL_FINALS_RUNS, "ii", problem_id, gpu_id);
}
