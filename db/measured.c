/*
 * Runs, trials, winners, rules, cubins and facts. Times are stored as whole tenths of a nanosecond, and
 * samples as differences from the median, two or three bytes each, so that a million trials fit in 100 MB.
 */
#include "db/measured.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "db/conn.h"
#include "db/path.h"

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

/* Of runs of this process. */
static void origin_here(tt__origin *out) {
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

tt_status tt__store_run_begin(tt__store *s, int64_t gpu_id, const tt__env *env, const char *source,
                              int64_t *run_id) {
    tt__origin here;
    origin_here(&here);
    return tt__run_add(s, gpu_id, env, source, tt__unix_ms(), &here, run_id);
}

tt_status tt__store_run_end(tt__store *s, int64_t run_id) {
    return tt__db_exec(s, TT__SQL_RUN_END, "ii", run_id, tt__unix_ms());
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
    const bool text = sqlite3_column_type(stmt, 4) == SQLITE_TEXT; /* read as a BLOB it passes for one */
    const unsigned char *samples = sqlite3_column_blob(stmt, 4);
    int size = sqlite3_column_bytes(stmt, 4);
    char values[160];
    *out = (tt__trial){0};
    if (status < 0 || status >= TT__TRIAL_STATUS_COUNT || time < 0 || regs < 0 || regs > INT_MAX ||
        bits < 0 || !(weight > 0) || !(limit_s >= 0) || text || (size && !samples) ||
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

void tt__trial_column(const tt__trial *t, sqlite3_context *out, int at) {
    enum { STATUS, TIME, COMPILE_US, REGS, SAMPLES, REASON, WEIGHT, LIMIT_S, BITS };
    unsigned char samples[SAMPLES_BYTES];
    size_t size;
    if (at == STATUS)
        sqlite3_result_int64(out, (int64_t)t->status);
    else if (at == TIME)
        sqlite3_result_int64(out, units(t->time_us));
    else if (at == COMPILE_US)
        sqlite3_result_int64(out, llround(t->compile_ms * 1e3));
    else if (at == REGS)
        sqlite3_result_int64(out, t->regs);
    else if (at == SAMPLES && (size = encode(samples, units(t->time_us), t)))
        sqlite3_result_blob64(out, samples, size, SQLITE_TRANSIENT);
    else if (at == REASON && *t->reason)
        sqlite3_result_text(out, t->reason, -1, SQLITE_STATIC);
    else if (at == WEIGHT)
        sqlite3_result_double(out, t->weight > 0 ? t->weight : 1);
    else if (at == LIMIT_S)
        sqlite3_result_double(out, t->limit_s);
    else if (at == BITS && t->status == TT__TRIAL_OK && t->bits)
        sqlite3_result_int64(out, t->bits);
}

static tt_status read_trials(tt__store *s, tt__sql sql, int64_t gpu_id, const tt__env *env,
                             int64_t problem_id, tt__stage stage, tt__trial_fn fn, void *user) {
    enum { KERNEL = TT__TRIAL_COL_COUNT, HASH, CONFIG, SOURCE, RUN, AT, STAGE, CONFIG_ID, AGE };
    sqlite3_stmt *stmt;
    tt_status status = tt__db_stmt(s, &stmt, sql, "tttiii", env ? env->driver : NULL, env ? env->nvrtc : NULL,
                                   env ? env->library : NULL, gpu_id, problem_id, (int64_t)stage);
    while (tt__db_next(s, stmt, &status)) {
        tt__trial trial;
        status = tt__trial_read(s, stmt, &trial);
        tt__trial_row r = {
            .kernel = tt__db_text(stmt, KERNEL),
            .hash = tt__db_text(stmt, HASH),
            .config = tt__db_text(stmt, CONFIG),
            .source = tt__run_source_name(sqlite3_column_int(stmt, SOURCE)),
            .stage = (tt__stage)(sqlite3_column_int64(stmt, STAGE) != 0),
            .config_id = sqlite3_column_int64(stmt, CONFIG_ID),
            .run_id = sqlite3_column_int64(stmt, RUN),
            .run_age = sqlite3_column_int64(stmt, AGE),
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

tt_status tt__store_trials(tt__store *s, int64_t gpu_id, const tt__env *env, int64_t problem_id,
                           tt__stage stage, tt__trial_fn fn, void *user) {
    return read_trials(s, TT__SQL_TRIALS, gpu_id, env, problem_id, stage, fn, user);
}

tt_status tt__store_trials_by_key(tt__store *s, int64_t gpu_id, const tt__env *env, int64_t problem_id,
                                  tt__stage from, tt__trial_fn fn, void *user) {
    return read_trials(s, TT__SQL_TRIALS_BY_KEY, gpu_id, env, problem_id, from, fn, user);
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
    TT_TRY(was_ever_wrong(s, kernel, hash, config, asked, &wrong));
    *covers = !wrong && (!of || of->n == asked->n);
    for (int i = 0; i < asked->n && *covers; i++) {
        const tt__setting *is = of ? &of->settings[i] : NULL, *other = &asked->settings[i];
        sqlite3_stmt *stmt;
        if (other->type != TT__TYPE_NONE || (is && is->number == other->number))
            continue;
        TT_TRY(tt__db_stmt(s, &stmt, is ? TT__SQL_COVERS : TT__SQL_COVERS_ALONE, "ttttti", kernel, hash,
                           config, asked->text, other->name, is ? is->number : other->number));
        tt_status status = tt__db_step(s, stmt, covers);
        tt__db_done(stmt);
        TT_TRY(status);
    }
    return TT_OK;
}

tt_status tt__store_finals_runs(tt__store *s, int64_t gpu_id, int64_t problem_id, int64_t *n) {
    return tt__db_int(s, n, 0, TT__SQL_FINALS_RUNS, "ii", problem_id, gpu_id);
}

/* ---- Winners: one for each GPU and problem, with all that is needed to check that it is still valid ---- */

#define FIGURE(m, kind, max) TT__FIELD_NUM_OF(tt__winner, m, #m, kind, 0, max, false)
const tt__field tt__winner_fields[TT__WINNER_FIELDS] = {
    FIGURE(time_us, TT__FIELD_F64, 1e12),
    FIGURE(copy_us, TT__FIELD_F64, 1e12),
    FIGURE(copy_fraction, TT__FIELD_F64, 1e6),
    FIGURE(speedup_vs_default, TT__FIELD_F64, 1e6),
    FIGURE(trials, TT__FIELD_I64, 1e9),
    FIGURE(failed, TT__FIELD_I64, 1e9),
    FIGURE(unix_ms, TT__FIELD_I64, TT__UNIX_MS_MAX),
    FIGURE(bits, TT__FIELD_I64, 0x1p63),
    FIGURE(batch_invariant, TT__FIELD_INT, 2),
};

tt_status tt__store_winner_put(tt__store *s, int64_t run_id, int64_t problem_id, int64_t config_id,
                               const tt__winner *w) {
    TT_TRY(tt__db_exec(s, TT__SQL_WINNER_PUT, "iiiddddiiiii", run_id, problem_id, config_id, w->time_us,
                       w->copy_us, w->copy_fraction, w->speedup_vs_default, w->trials, w->failed,
                       w->unix_ms ? w->unix_ms : tt__unix_ms(), w->bits, (int64_t)w->batch_invariant));
    if (sqlite3_changes(s->db) != 1)
        return tt__fail(TT_E_DB, "%s: cannot write a winner: there is no run %lld", s->path,
                        (long long)run_id);
    return TT_OK;
}

static tt_status read_winner(tt__store *s, sqlite3_stmt *stmt, tt__winner *w) {
    *w = (tt__winner){0};
    int at = tt__fields_read(stmt, 0, tt__gpu_fields, TT__GPU_FIELDS, &w->gpu);
    TT_TRY(tt__db_problem_read(s, stmt, at, &w->problem));
    w->problem_id = sqlite3_column_int64(stmt, at + 4);
    at = tt__fields_read(stmt, at + TT__PROBLEM_COL_COUNT, tt__env_fields, TT__ENV_FIELDS, &w->env);
    tt__text_read(stmt, at++, w->kernel, sizeof w->kernel, TT__CLEAN_NAME);
    tt__text_read(stmt, at++, w->hash, sizeof w->hash, TT__CLEAN_NAME);
    tt__text_read(stmt, at++, w->config, sizeof w->config, TT__CLEAN_NAME);
    tt__copy(w->source, sizeof w->source, tt__run_source_name(sqlite3_column_int(stmt, at++)));
    tt__fields_read(stmt, at, tt__winner_fields, TT__WINNER_FIELDS, w);
    return TT_OK;
}

tt_status tt__store_winner_get(tt__store *s, int64_t gpu_id, int64_t problem_id, tt__winner *out,
                               bool *found) {
    sqlite3_stmt *stmt;
    *found = false;
    *out = (tt__winner){0};
    TT_TRY(tt__db_stmt(s, &stmt, TT__SQL_WINNER_GET, "ii", gpu_id, problem_id));
    tt_status status = tt__db_step(s, stmt, found);
    if (status == TT_OK && *found)
        status = read_winner(s, stmt, out);
    *found = *found && status == TT_OK;
    tt__db_done(stmt);
    return status;
}

tt_status tt__store_winner_remove(tt__store *s, int64_t gpu_id, int64_t problem_id) {
    return tt__db_exec(s, TT__SQL_PRUNE_WINNER, "ii", gpu_id, problem_id);
}

tt_status tt__store_winner_batch(tt__store *s, int64_t gpu_id, int64_t problem_id, int batch_invariant) {
    return tt__db_exec(s, TT__SQL_WINNER_BATCH, "iii", gpu_id, problem_id, (int64_t)batch_invariant);
}

tt_status tt__store_has_winner(tt__store *s, int64_t gpu_id, int64_t problem_id, bool *has) {
    int64_t one;
    TT_TRY(tt__db_int(s, &one, 0, TT__SQL_WINNER_HAS, "ii", gpu_id, problem_id));
    *has = one != 0;
    return TT_OK;
}

tt_status tt__store_winners(tt__store *s, int64_t gpu_id, int cc, const char *op, tt__winner_fn fn,
                            void *user) {
    sqlite3_stmt *stmt;
    tt__sql sql = gpu_id ? TT__SQL_WINNERS_OF_GPU : TT__SQL_WINNERS_OF_CC;
    tt_status status = tt__db_stmt(s, &stmt, sql, "it", gpu_id ? gpu_id : (int64_t)cc, op);
    while (tt__db_next(s, stmt, &status)) {
        tt__winner w;
        status = read_winner(s, stmt, &w);
        if (status == TT_OK)
            status = fn(user, &w);
    }
    return status;
}

tt_status tt__store_winners_listed(tt__store *s, int64_t gpu_id, const char *op, tt__winner_listed_fn fn,
                                   void *user) {
    sqlite3_stmt *stmt;
    tt_status status = tt__db_stmt(s, &stmt, TT__SQL_WINNERS_LISTED, "it", gpu_id, op);
    while (tt__db_next(s, stmt, &status)) {
        const tt__winner_listed w = {sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1),
                                     sqlite3_column_int64(stmt, 2), sqlite3_column_int64(stmt, 3),
                                     tt__db_text(stmt, 4)};
        status = w.op ? fn(user, &w) : tt__fail_memory(0);
    }
    return status;
}

tt_status tt__store_winners_brief(tt__store *s, tt__winner_brief_fn fn, void *user) {
    sqlite3_stmt *stmt;
    tt__winner w = {0};
    tt_status status = tt__db_stmt(s, &stmt, TT__SQL_WINNERS_BRIEF, "");
    while (tt__db_next(s, stmt, &status)) {
        w.time_us = sqlite3_column_double(stmt, 2);
        tt__text_read(stmt, 3, w.kernel, sizeof w.kernel, TT__CLEAN_NAME);
        tt__text_read(stmt, 4, w.hash, sizeof w.hash, TT__CLEAN_NAME);
        tt__text_read(stmt, 5, w.config, sizeof w.config, TT__CLEAN_NAME);
        tt__copy(w.source, sizeof w.source, tt__run_source_name(sqlite3_column_int(stmt, 6)));
        tt__fields_read(stmt, 7, tt__env_fields, TT__ENV_FIELDS, &w.env);
        status = fn(user, sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1), &w);
    }
    return status;
}

/* ---- Rules ----------------------------------------------------------------------------------- */

tt_status tt__store_rule_put(tt__store *s, int64_t gpu_id, const tt__tuning_rule *rule, int64_t unix_ms) {
    tt__str text = {0}, name = {0};
    tt__rule_write(&text, rule);
    tt_status status = tt__str_check(&text);
    if (status == TT_OK) {
        tt__str_addn(&name, text.text, (size_t)(strchr(strchr(text.text, '\n') + 1, '\n') - text.text));
        status = tt__str_check(&name);
    }
    if (status == TT_OK)
        status = tt__db_exec(s, TT__SQL_RULE_PUT, "itti", gpu_id, name.text, text.text, unix_ms);
    tt__str_free(&text);
    tt__str_free(&name);
    return status;
}

tt_status tt__store_rules(tt__store *s, int64_t gpu_id, tt__rule_fn fn, void *user) {
    sqlite3_stmt *stmt;
    tt_status status = tt__db_stmt(s, &stmt, TT__SQL_RULES, "i", gpu_id);
    while (tt__db_next(s, stmt, &status)) {
        const char *text = tt__db_text(stmt, 1);
        status = text ? fn(user, sqlite3_column_int64(stmt, 0), text, sqlite3_column_int64(stmt, 2))
                      : tt__fail_memory(0);
    }
    return status;
}

/* ---- Cubins. Each has a hash of its content, so that the driver gets exactly what the compiler made. */

tt_status tt__store_cubin_put(tt__store *s, const char *key, const void *cubin, size_t size) {
    char hash[TT__HASH_SIZE];
    tt__hash(hash, cubin, size);
    return tt__db_exec(s, TT__SQL_CUBIN_PUT, "ttb", key, hash, size ? cubin : "", size);
}

/* Reads the cubin from a row of CUBIN_GET. */
static tt_status take_cubin(tt__store *s, sqlite3_stmt *stmt, const char *key, tt__str *out) {
    char actual[TT__HASH_SIZE];
    const char *hash = tt__db_text(stmt, 0);
    const void *image = sqlite3_column_blob(stmt, 1);
    size_t size = (size_t)sqlite3_column_bytes(stmt, 1);
    if (!hash || (size && !image))
        return tt__fail_memory(size);
    if (!image)
        image = "";
    tt__hash(actual, image, size);
    if (strcmp(actual, hash) != 0)
        return tt__fail(TT_E_DB, "%s: the cubin %s is damaged: its content does not match its hash", s->path,
                        key);
    tt__str_addn(out, image, size);
    return tt__str_check(out);
}

tt_status tt__store_cubin_get(tt__store *s, const char *key, tt__str *out, bool *found) {
    sqlite3_stmt *stmt;
    *found = false;
    TT_TRY(tt__db_stmt(s, &stmt, TT__SQL_CUBIN_GET, "t", key));
    tt_status status = tt__db_step(s, stmt, found);
    if (status == TT_OK && *found && s->no_code)
        status = tt__path_check_code(s->path);
    if (status == TT_OK && *found)
        status = take_cubin(s, stmt, key, out);
    if (status != TT_OK)
        *found = false;
    tt__db_done(stmt);
    return status;
}

tt_status tt__store_cubin_link(tt__store *s, const char *template_hash, const char *config, int elem_size,
                               int cc, const char *key) {
    return tt__db_exec(s, TT__SQL_CUBIN_LINK, "ttiit", template_hash, config, (int64_t)elem_size, (int64_t)cc,
                       key);
}

tt_status tt__store_cubin_linked(tt__store *s, const char *template_hash, const char *config, int elem_size,
                                 int cc, bool *found) {
    int64_t one;
    tt_status status = tt__db_int(s, &one, 0, TT__SQL_CUBIN_LINKED, "ttii", template_hash, config,
                                  (int64_t)elem_size, (int64_t)cc);
    *found = one != 0;
    return status;
}

tt_status tt__store_cubin_find(tt__store *s, const char *template_hash, const char *config, int elem_size,
                               int cc, tt__str *out, bool *found) {
    sqlite3_stmt *stmt;
    *found = false;
    TT_TRY(tt__db_stmt(s, &stmt, TT__SQL_CUBIN_FIND, "ttii", template_hash, config, (int64_t)elem_size,
                       (int64_t)cc));
    tt_status status = tt__db_step(s, stmt, found);
    if (status == TT_OK && *found) {
        const char *key = tt__db_text(stmt, 0);
        if (key)
            tt__str_add(out, key);
        status = key ? tt__str_check(out) : tt__fail_memory(0);
    }
    if (status != TT_OK)
        *found = false;
    tt__db_done(stmt);
    return status;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

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

/* ---- Checks of rows of others ---------------------------------------------------------------- */

tt_status tt__checked_winner(sqlite3_stmt *stmt, int at, tt__winner *out) {
    *out = (tt__winner){0};
    TT_TRY(tt__fields_read_checked(stmt, at, tt__winner_fields, TT__WINNER_FIELDS, out));
    return out->time_us > 0 ? TT_OK : tt__fail(TT_E_INVALID, "time_us is 0: expected more");
}

#define NUMBER(type, m) TT__FIELD_NUM_OF(type, m, #m, TT__FIELD_F64, 0, 1e12, false)

tt_status tt__checked_peaks(sqlite3_stmt *stmt, int at, tt__peaks *out) {
    static const tt__field fields[] = {NUMBER(tt__peaks, copy_gbps),   NUMBER(tt__peaks, l2_gbps),
                                       NUMBER(tt__peaks, fp32_gflops), NUMBER(tt__peaks, fp64_gflops),
                                       NUMBER(tt__peaks, fp16_gflops), NUMBER(tt__peaks, tensor_gflops)};
    return tt__fields_read_checked(stmt, at, fields, TT__COUNT(fields), out);
}

tt_status tt__checked_energy(sqlite3_stmt *stmt, int at, tt__energy *out) {
    static const tt__field fields[TT__ENERGY_FIELDS] = {
        NUMBER(tt__energy, time_us), NUMBER(tt__energy, joules), NUMBER(tt__energy, noise),
        NUMBER(tt__energy, idle_watts), NUMBER(tt__energy, celsius)};
    *out = (tt__energy){0};
    return tt__fields_read_checked(stmt, at, fields, TT__ENERGY_FIELDS, out);
}
