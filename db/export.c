/*
 * Writes recordings: the trials of one GPU as T4 JSON. Each result is one line, so that a diff shows which
 * configurations changed. docs/recordings.md has the format.
 */
#include <math.h>

#include "base/json.h"
#include "db/conn.h"
#include "db/field.h"
#include "db/problem.h"
#include "db/recording.h"

typedef struct export {
    tt__store *store;
    const char *op;
    int64_t gpu_id, env_id, replayed;
    tt__env env;
    tt__gpu gpu;
    char date[32];
    tt__str *out;
}
export;

/* T4's words for failures, which are fewer than ours. */
static const char *const invalidity[TT__TRIAL_STATUS_COUNT] = {
    [TT__TRIAL_OK] = "correct",           [TT__TRIAL_COMPILE_ERROR] = "compile",
    [TT__TRIAL_LAUNCH_ERROR] = "runtime", [TT__TRIAL_WRONG_RESULT] = "correctness",
    [TT__TRIAL_TIMEOUT] = "timeout",      [TT__TRIAL_CRASHED] = "runtime",
    [TT__TRIAL_SKIPPED] = "constraints",
};

/* Milliseconds, the usual unit in T4 files, rounded to 1 / per_ms. */
static void write_ms(tt__json *j, const char *key, double ms, double per_ms) {
    tt__json_number(j, key, round(ms * per_ms) / per_ms, 12);
}

static void write_measurement(tt__json *j, const char *name, double ms) {
    tt__json_open(j, NULL, '{');
    tt__json_string(j, "name", name);
    write_ms(j, "value", ms, 1e7); /* 0.1 ns */
    tt__json_string(j, "unit", "ms");
    tt__json_close(j, '}');
}

static void write_measurements(tt__json *j, const tt__trial *t, bool weighed) {
    tt__json_open(j, "measurements", '[');
    if (t->time_us > 0)
        write_measurement(j, "time", t->time_us * 1e-3);
    if (t->time_us > 0 && weighed)
        write_measurement(j, "weighed_time", t->time_us * t->weight * 1e-3);
    if (t->regs > 0) {
        tt__json_open(j, NULL, '{');
        tt__json_string(j, "name", "registers");
        tt__json_int(j, "value", t->regs);
        tt__json_string(j, "unit", "");
        tt__json_close(j, '}');
    }
    tt__json_close(j, ']');
    tt__json_open(j, "objectives", '[');
    tt__json_string(j, NULL, weighed ? "weighed_time" : "time");
    tt__json_close(j, ']');
}

static void write_result(export *x, const tt__trial *t, sqlite3_stmt *stmt, int at) {
    enum { NS_PER_MS = 1000000, US_PER_MS = 1000 };
    bool weighed = sqlite3_column_int(stmt, at + 5) != 0;
    tt__json j = {.out = x->out};
    tt__json_open(&j, NULL, '{');
    tt__json_string(&j, "kernel", (const char *)sqlite3_column_text(stmt, at));
    tt__json_int(&j, "problem", sqlite3_column_int64(stmt, at + 4));
    tt__json_string(&j, "stage", sqlite3_column_int(stmt, at + 2) == TT__STAGE_FINAL ? "final" : "screen");
    tt__json_config(&j, "configuration", (const char *)sqlite3_column_text(stmt, at + 1));
    tt__json_string(&j, "invalidity", invalidity[t->status]);
    tt__json_int(&j, "correctness", t->status == TT__TRIAL_OK);
    if (t->status != TT__TRIAL_OK) {
        tt__json_string(&j, "status", tt__trial_status_name(t->status));
        tt__json_string(&j, "reason", t->reason);
    }
    tt__json_open(&j, "times", '{');
    write_ms(&j, "compilation_time", t->compile_ms, US_PER_MS);
    tt__json_open(&j, "runtimes", '[');
    for (int i = 0; i < t->n_samples; i++)
        write_ms(&j, NULL, (double)t->samples_us[i] * 1e-3, NS_PER_MS);
    tt__json_close(&j, ']');
    tt__json_close(&j, '}');
    if (weighed)
        tt__json_number(&j, "weight", t->weight, 17);
    write_measurements(&j, t, weighed);
    tt__json_string(&j, "timestamp", (const char *)sqlite3_column_text(stmt, at + 3));
    tt__json_close(&j, '}');
}

static tt_status export_rows(export *x, tt__sql sql, tt_status (*write)(export *x, sqlite3_stmt *stmt)) {
    sqlite3_stmt *stmt;
    bool row;
    TT_TRY(tt__db_stmt(x->store, &stmt, sql, "iiit", x->gpu_id, x->env_id, x->replayed, x->op));
    tt_status status;
    for (bool first = true; (status = tt__db_step(x->store, stmt, &row)) == TT_OK && row; first = false) {
        tt__str_add(x->out, first ? "\n" : ",\n");
        if ((status = write(x, stmt)) != TT_OK)
            break;
    }
    tt__db_done(stmt);
    return status;
}

static tt_status write_kernel_row(export *x, sqlite3_stmt *stmt) {
    const char *kernel = (const char *)sqlite3_column_text(stmt, 0);
    const char *hash = (const char *)sqlite3_column_text(stmt, 1);
    if (!kernel || !hash)
        return tt__fail_memory(0);
    tt__json j = {.out = x->out};
    tt__json_string(&j, kernel, hash);
    return TT_OK;
}

static tt_status write_problem_row(export *x, sqlite3_stmt *stmt) {
    tt__problem p;
    TT_TRY(tt__db_problem_read(x->store, stmt, 0, &p));
    tt__json j = {.out = x->out};
    tt__json_open(&j, NULL, '{');
    tt__json_string(&j, "op", p.op);
    for (int i = 0; i < p.n; i++) {
        const tt__setting *v = &p.settings[i];
        if (v->type == TT__TYPE_NONE)
            tt__json_int(&j, v->name, v->number);
        else
            tt__json_string(&j, v->name, tt__types[v->type].name);
    }
    if (p.moved_bytes > 0)
        tt__json_number(&j, "moved_bytes", p.moved_bytes, 17);
    if (p.warm)
        tt__json_true(&j, "warm");
    if (p.unverified)
        tt__json_true(&j, "unverified");
    if (*p.text)
        tt__json_string(&j, "text", p.text);
    tt__json_close(&j, '}');
    return TT_OK;
}

static tt_status write_result_row(export *x, sqlite3_stmt *stmt) {
    tt__trial trial;
    TT_TRY(tt__trial_read(x->store, stmt, &trial));
    for (int i = 0; i < 6; i++)
        if (!sqlite3_column_text(stmt, TT__TRIAL_COL_COUNT + i))
            return tt__fail_memory(0);
    write_result(x, &trial, stmt, TT__TRIAL_COL_COUNT);
    return TT_OK;
}

/* Chooses the environment: see the statement. */
static tt_status choose(export *x) {
    sqlite3_stmt *stmt;
    bool row;
    TT_TRY(tt__db_stmt(x->store, &stmt, TT__SQL_EXPORT_ENV, "it", x->gpu_id, x->op));
    tt_status status = tt__db_step(x->store, stmt, &row);
    if (status == TT_OK && row) {
        x->env_id = sqlite3_column_int64(stmt, 0);
        x->replayed = sqlite3_column_int64(stmt, 1);
        const char *date = (const char *)sqlite3_column_text(stmt, 2);
        tt__copy(x->date, sizeof x->date, date ? date : "");
        int at = tt__fields_read(stmt, 3, tt__env_fields, TT__ENV_FIELDS, &x->env);
        tt__fields_read(stmt, at, tt__gpu_fields, TT__GPU_FIELDS, &x->gpu);
    } else if (status == TT_OK) {
        status = tt__fail(TT_E_NO_WINNER, "%s: no %strials of this GPU to export: tune on it first",
                          tt__store_path(x->store), x->op ? x->op : "");
    }
    tt__db_done(stmt);
    return status;
}

static void write_head(export *x, const char *commit) {
    tt__json j = {.out = x->out};
    tt__json_open(&j, NULL, '{');
    tt__json_string(&j, "schema_version", "1.0.0");
    tt__str_add(x->out, ",\n\"metadata\":");
    j = (tt__json){.out = x->out};
    tt__json_open(&j, NULL, '{');
    tt__json_string(&j, "tool", "tiletune " TT_VERSION);
    tt__json_int(&j, "format", TT__RECORDING_FORMAT);
    tt__json_string(&j, "date", x->date);
    tt__json_string(&j, "commit", commit ? commit : "");
    tt__json_string(&j, "time_unit", "ms");
    tt__json_open(&j, "environment", '{');
    tt__fields_write_json(&j, tt__env_fields, TT__ENV_FIELDS, &x->env);
    tt__json_close(&j, '}');
    tt__json_open(&j, "gpu", '{');
    tt__fields_write_json(&j, tt__gpu_fields, TT__GPU_FIELDS, &x->gpu);
    tt__json_close(&j, '}');
}

static tt_status write_all(export *x, const char *commit) {
    TT_TRY(choose(x));
    write_head(x, commit);
    tt__str_add(x->out, ",\n\"kernels\":{");
    TT_TRY(export_rows(x, TT__SQL_EXPORT_KERNELS, write_kernel_row));
    tt__str_add(x->out, "\n},\n\"problems\":[");
    TT_TRY(export_rows(x, TT__SQL_EXPORT_PROBLEMS, write_problem_row));
    tt__str_add(x->out, "\n]},\n\"results\":[");
    TT_TRY(export_rows(x, TT__SQL_EXPORT_RESULTS, write_result_row));
    tt__str_add(x->out, "\n]}\n");
    return tt__str_check(x->out);
}

tt_status tt__recording_export(tt__store *s, int64_t gpu_id, const char *op, const char *commit,
                               tt__str *out) {
    export x = {.store = s, .op = op, .gpu_id = gpu_id, .out = out};
    bool own = !s->grouped;
    if (own) /* one transaction: all queries see the same state */
        TT_TRY(tt__db_exec(s, TT__SQL_BEGIN_READING, ""));
    return tt__db_end(s, own, write_all(&x, commit));
}
