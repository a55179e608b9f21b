/*
 * Writes recordings: the trials of one GPU as T4 JSON. Each result is one line, so that a diff shows which
 * configurations changed. docs/cli.schema.json has the format. It also writes cache files of Kernel Tuner.
 */
#include "db/exchange/export.h"

#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/json.h"
#include "base/read_file.h"
#include "db/conn.h"
#include "db/exchange/recording.h"
#include "db/field.h"

typedef struct export {
    tt__store *store;
    tt__recording_part part;
    const char *commit;
    int64_t gpu_id, env_id, replayed;
    int64_t least, most;   /* ids of problems */
    tt__str live;          /* ids of templates, as JSON */
    size_t n_problems, at; /* at: the one whose results are being written */
    int64_t *problems;
    tt__env env;
    tt__gpu gpu;
    char date[32];
    tt__str *out;
    bool weighed;
    size_t n_rows;                /* of the list under way */
    char kernel[TT__NAME_MAX];    /* the last one */
    char hash[TT__HASH_SIZE];     /* of its text */
    tt__problem problem;          /* likewise */
    char parameter[TT__NAME_MAX]; /* the parameter whose values are being written */
}
export;

/* Kernel Tuner has fewer words than T4. */
static const char *error_word(tt__trial_status status) {
    return status == TT__TRIAL_COMPILE_ERROR || status >= TT__TRIAL_COMPILE_TIMEOUT
               ? "CompilationFailedConfig"
           : status == TT__TRIAL_SKIPPED ? "InvalidConfig"
                                         : "RuntimeFailedConfig";
}

enum { US = 3, NS = 6, TENTH_NS = 7 }; /* decimal places of milliseconds */

/* Milliseconds, the usual unit in T4 files, rounded to so many decimal places. */
static void write_ms(tt__json *j, const char *key, double ms, int places) {
    static const double scale[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7};
    const double units = round(ms * scale[places]);
    if (units >= 0 && units < 1e15)
        tt__json_fixed(j, key, (int64_t)units, places);
    else
        tt__json_number(j, key, units / scale[places], 12);
}

static void write_measurement(tt__json *j, const char *name, double value, const char *unit) {
    tt__json_open(j, NULL, '{');
    tt__json_string(j, "name", name);
    write_ms(j, "value", value, TENTH_NS); /* other numbers are whole */
    tt__json_string(j, "unit", unit);
    tt__json_close(j, '}');
}

static void write_measurements(tt__json *j, const tt__trial *t, bool weighed) {
    tt__json_open(j, "measurements", '[');
    if (t->time_us > 0)
        write_measurement(j, "time", t->time_us * 1e-3, "ms");
    if (t->time_us > 0 && weighed)
        write_measurement(j, "weighed_time", t->time_us * t->weight * 1e-3, "ms");
    if (t->regs > 0)
        write_measurement(j, "registers", t->regs, "");
    tt__json_close(j, ']');
    tt__json_open(j, "objectives", '[');
    tt__json_string(j, NULL, weighed ? "weighed_time" : "time");
    tt__json_close(j, ']');
}

static void write_samples(tt__json *j, const char *key, const tt__trial *t) {
    tt__json_open(j, key, '[');
    for (int i = 0; i < t->n_samples; i++)
        write_ms(j, NULL, (double)t->samples_us[i] * 1e-3, NS);
    tt__json_close(j, ']');
}

static void write_result(export *x, const tt__trial *t, sqlite3_stmt *stmt, int at) {
    static const char *const unknown[] = {"framework", "search_algorithm",
                                          "validation"}; /* others add them up */
    bool weighed = sqlite3_column_int(stmt, at + 4) != 0;
    char bits[TT__BITS_TEXT_MAX];
    tt__json j = {.out = x->out};
    tt__json_open(&j, NULL, '{');
    tt__json_string(&j, "kernel", tt__db_text(stmt, at));
    tt__json_int(&j, "problem", (int64_t)x->at);
    tt__json_string(&j, "stage", sqlite3_column_int(stmt, at + 2) == TT__STAGE_FINAL ? "final" : "screen");
    tt__json_config(&j, "configuration", tt__db_text(stmt, at + 1));
    tt__json_string(&j, "invalidity", tt__t4_words[t->status]);
    tt__json_int(&j, "correctness", t->status == TT__TRIAL_OK);
    if (t->status != TT__TRIAL_OK) {
        tt__json_string(&j, "status", tt__trial_status_name(t->status));
        tt__json_string(&j, "reason", t->reason);
        if (t->limit_s > 0)
            tt__json_number(&j, "limit_s", t->limit_s, 17);
    }
    if (t->bits)
        tt__json_string(&j, "bits", tt__bits_text(bits, t->bits));
    tt__json_open(&j, "times", '{');
    write_ms(&j, "compilation_time", t->compile_ms, US);
    write_ms(&j, "compilation", t->compile_ms, US); /* the name used by Kernel Tuner and others */
    for (size_t i = 0; x->part.kernel && i < TT__COUNT(unknown); i++)
        tt__json_int(&j, unknown[i], 0);
    write_samples(&j, "runtimes", t);
    tt__json_close(&j, '}');
    if (weighed)
        tt__json_number(&j, "weight", t->weight, 17);
    write_measurements(&j, t, weighed);
    tt__json_string(&j, "timestamp", tt__db_text(stmt, at + 3));
    tt__json_close(&j, '}');
}

typedef tt_status (*row_fn)(export *x, sqlite3_stmt *stmt);

static tt_status each_row(export *x, tt__sql sql, row_fn fn) {
    sqlite3_stmt *stmt;
    tt_status status = sql == TT__SQL_EXPORT_KERNELS
                           ? tt__db_stmt(x->store, &stmt, sql, "iiiiitt", x->gpu_id, x->env_id, x->replayed,
                                         x->least, x->most, x->part.op, x->part.kernel)
                           : tt__db_stmt(x->store, &stmt, sql, "iiiiit", x->gpu_id, x->env_id, x->replayed,
                                         x->least, x->most, tt__str_text(&x->live));
    for (; tt__db_next(x->store, stmt, &status); x->n_rows++)
        status = fn(x, stmt);
    return status;
}

static void next_line(export *x) {
    tt__str_add(x->out, x->n_rows ? ",\n" : "\n");
}

/* The kernel's newest text. */
static tt_status keep_kernel(export *x, sqlite3_stmt *stmt) {
    const char *kernel = tt__db_text(stmt, 0);
    tt__copy(x->kernel, sizeof x->kernel, kernel ? kernel : "");
    tt__str_addf(&x->live, "%s%lld", x->n_rows ? "," : "", (long long)sqlite3_column_int64(stmt, 2));
    return kernel ? tt__str_check(&x->live) : tt__fail_memory(0);
}

/* A kernel of several operations has a row for each, one after the other. */
static tt_status write_kernel_row(export *x, sqlite3_stmt *stmt) {
    const char *kernel = tt__db_text(stmt, 0), *hash = tt__db_text(stmt, 1);
    const bool is_there =
        x->n_rows > 0 && kernel && hash && strcmp(kernel, x->kernel) == 0 && strcmp(hash, x->hash) == 0;
    TT_TRY(keep_kernel(x, stmt));
    if (!hash)
        return tt__fail_memory(0);
    if (is_there)
        return TT_OK;
    tt__copy(x->hash, sizeof x->hash, hash);
    tt__json j = {.out = x->out};
    next_line(x);
    tt__json_string(&j, x->kernel, hash);
    return TT_OK;
}

static tt_status each_kernel(export *x, row_fn fn) {
    tt__str_add(&x->live, "[");
    TT_TRY(each_row(x, TT__SQL_EXPORT_KERNELS, fn));
    tt__str_add(&x->live, "]");
    return tt__str_check(&x->live);
}

static tt_status keep_problem(export *x, sqlite3_stmt *stmt) {
    enum { ID = 4 };
    TT_TRY(TT__GROW(x->problems, x->n_problems));
    x->problems[x->n_problems++] = sqlite3_column_int64(stmt, ID);
    return tt__db_problem_read(x->store, stmt, 0, &x->problem);
}

static void write_problem(tt__str *out, const tt__problem *p) {
    tt__json j = {.out = out};
    tt__json_open(&j, NULL, '{');
    tt__json_string(&j, "op", p->op);
    for (int i = 0; i < p->n; i++) {
        const tt__setting *v = &p->settings[i];
        if (v->type == TT__TYPE_NONE)
            tt__json_int(&j, v->name, v->number);
        else
            tt__json_string(&j, v->name, tt__types[v->type].name);
    }
    if (p->moved_bytes > 0)
        tt__json_number(&j, "moved_bytes", p->moved_bytes, 17);
    if (p->warm)
        tt__json_true(&j, "warm");
    if (p->in_graph)
        tt__json_true(&j, "in_graph");
    if (p->unverified)
        tt__json_true(&j, "unverified");
    if (*p->text)
        tt__json_string(&j, "text", p->text);
    tt__json_close(&j, '}');
}

static tt_status write_problem_row(export *x, sqlite3_stmt *stmt) {
    TT_TRY(keep_problem(x, stmt));
    next_line(x);
    write_problem(x->out, &x->problem);
    return TT_OK;
}

/* Does a file's head list the problem, on a GPU of that name? */
static bool lists(const char *path, const char *gpu, const char *problem, char *head, size_t size) {
    size_t n;
    if (tt__read_start(path, head, size - 1, &n) != TT_OK)
        return false;
    head[n] = '\0';
    return strstr(head, gpu) && strstr(head, problem);
}

void tt__recording_find(tt__str *out, const char *beside, const tt__gpu *gpu, const tt__problem *p) {
    enum { HEAD_BYTES = 1 << 16, FILES_MAX = 100 };
    const char *slash = strrchr(beside, '/');
    const int n_folder = slash ? (int)(slash - beside) + 1 : 0;
    tt__str problem = {0}, name = {0}, pattern = {0};
    glob_t found = {0};
    char *head = malloc(HEAD_BYTES);
    tt__json j = {.out = &name};
    tt__json_open(&j, "gpu", '{');
    tt__json_string(&j, "name", gpu->name);
    write_problem(&problem, p);
    tt__str_addf(&pattern, "%.*s*.json", n_folder, beside);
    if (head && !glob(tt__str_text(&pattern), 0, NULL, &found))
        for (size_t i = 0; i < found.gl_pathc && i < FILES_MAX && !out->len; i++)
            if (lists(found.gl_pathv[i], tt__str_text(&name), tt__str_text(&problem), head, HEAD_BYTES))
                tt__str_add(out, found.gl_pathv[i]);
    globfree(&found);
    free(head);
    tt__str_free(&pattern);
    tt__str_free(&name);
    tt__str_free(&problem);
}

static tt_status write_result_row(export *x, sqlite3_stmt *stmt) {
    tt__trial trial;
    TT_TRY(tt__trial_read(x->store, stmt, &trial));
    for (int i = 0; i < 5; i++)
        if (!sqlite3_column_text(stmt, TT__TRIAL_COL_COUNT + i))
            return tt__fail_memory(0);
    next_line(x);
    write_result(x, &trial, stmt, TT__TRIAL_COL_COUNT);
    return tt__str_check(x->out);
}

static tt_status fail_none(const export *x) {
    const char *what = x->part.kernel ? x->part.kernel : x->part.op;
    return tt__fail(TT_E_NO_WINNER, "%s has no trials%s%s%s on this GPU: \"tune list\" shows what was tuned",
                    tt__store_path(x->store), what ? " of " : "", what ? what : "",
                    x->part.problem ? " for this problem" : "");
}

/* Chooses the environment: see the statement. */
static tt_status choose(export *x) {
    sqlite3_stmt *stmt;
    bool row;
    x->least = INT64_MIN;
    x->most = INT64_MAX;
    if (x->part.problem) {
        TT_TRY(tt__store_known_problem(x->store, x->part.problem, &x->least));
        x->most = x->least;
    }
    TT_TRY(tt__db_stmt(x->store, &stmt, TT__SQL_EXPORT_ENV, "iiitt", x->gpu_id, x->least, x->most, x->part.op,
                       x->part.kernel));
    tt_status status = tt__db_step(x->store, stmt, &row);
    if (status == TT_OK && row) {
        x->env_id = sqlite3_column_int64(stmt, 0);
        x->replayed = sqlite3_column_int64(stmt, 1);
        const char *date = tt__db_text(stmt, 2);
        tt__copy(x->date, sizeof x->date, date ? date : "");
        int at = tt__fields_read(stmt, 3, tt__env_fields, TT__ENV_FIELDS, &x->env);
        tt__fields_read(stmt, at, tt__gpu_fields, TT__GPU_FIELDS, &x->gpu);
    } else if (status == TT_OK) {
        status = fail_none(x);
    }
    tt__db_done(stmt);
    return status;
}

static void write_head(export *x) {
    tt__json j = {.out = x->out};
    tt__json_open(&j, NULL, '{');
    tt__json_string(&j, "schema_version", "1.0.0");
    tt__str_add(x->out, ",\n\"metadata\":");
    j = (tt__json){.out = x->out};
    tt__json_open(&j, NULL, '{');
    tt__json_string(&j, "tool", "tiletune " TT_VERSION);
    tt__json_int(&j, "format", TT__RECORDING_FORMAT);
    tt__json_string(&j, "date", x->date);
    tt__json_string(&j, "commit", x->commit ? x->commit : "");
    tt__json_string(&j, "time_unit", "ms");
    tt__json_string(&j, "timeunit", "milliseconds"); /* where the benchmark hub has it */
    tt__json_open(&j, "environment", '{');
    tt__fields_write_json(&j, tt__env_fields, TT__ENV_FIELDS, &x->env);
    tt__json_close(&j, '}');
    tt__json_open(&j, "gpu", '{');
    tt__fields_write_json(&j, tt__gpu_fields, TT__GPU_FIELDS, &x->gpu);
    tt__json_close(&j, '}');
}

static tt_status write_rule(void *user, int64_t gpu_id, const char *text, int64_t unix_ms) {
    tt__tuning_rule *rule;
    export *x = user;
    tt__json j = {.out = x->out};
    (void)gpu_id;
    (void)unix_ms;
    TT_TRY(tt__rule_read(&rule, text)); /* an import would refuse a damaged one, and all with it */
    tt__rule_free(&rule);
    tt__str_add(x->out, x->n_rows++ ? ",\n" : ",\n\"rules\":[\n");
    tt__json_string(&j, NULL, text);
    return TT_OK;
}

static tt_status write_all(export *x) {
    TT_TRY(choose(x));
    write_head(x);
    if (!x->part.op && !x->part.kernel && !x->part.problem)
        TT_TRY(tt__store_rules(x->store, x->gpu_id, write_rule, x));
    tt__str_add(x->out, x->n_rows ? "\n]" : "");
    x->n_rows = 0;
    tt__str_add(x->out, ",\n\"kernels\":{");
    TT_TRY(each_kernel(x, write_kernel_row));
    tt__str_add(x->out, "\n},\n\"problems\":[");
    x->n_rows = 0;
    TT_TRY(each_row(x, TT__SQL_EXPORT_PROBLEMS, write_problem_row));
    tt__str_add(x->out, "\n]},\n\"results\":[");
    x->n_rows = 0;
    for (; x->at < x->n_problems; x->at++) { /* one by one, so that nothing large is sorted */
        x->least = x->most = x->problems[x->at];
        TT_TRY(each_row(x, TT__SQL_EXPORT_RESULTS, write_result_row));
    }
    tt__str_add(x->out, "\n]}\n");
    return tt__str_check(x->out);
}

/* ---- A cache file of Kernel Tuner -------------------------------------------------------------- */

/* What a cache's entry has beside the parameters: a parameter of that name would be there twice. */
static bool is_cache_member(const char *name) {
    static const char *const members[] = {
        "time",           "times",         "weighed_time",   "compile_time", "verification_time",
        "benchmark_time", "strategy_time", "framework_time", "timestamp",    "__error__"};
    for (size_t i = 0; i < TT__COUNT(members); i++)
        if (strcmp(name, members[i]) == 0)
            return true;
    return false;
}

/* One statement has the names, each with its first value, and one all values. */
static tt_status write_name_row(export *x, sqlite3_stmt *stmt) {
    const char *name = tt__db_text(stmt, 0);
    tt__json j = {.out = x->out};
    if (!name)
        return tt__fail_memory(0);
    if (!sqlite3_column_int(stmt, 2))
        return tt__fail(TT_E_INVALID, "%s: some configurations of %s have no %s", tt__store_path(x->store),
                        x->kernel, name);
    if (is_cache_member(name))
        return tt__fail(TT_E_INVALID,
                        "%s: %s has a parameter \"%s\", which is a result in each entry of a cache file: "
                        "rename it, or export without --format kernel-tuner-cache",
                        tt__store_path(x->store), x->kernel, name);
    if (strcmp(x->parameter, name) == 0)
        return TT_OK;
    tt__str_add(x->out, *x->parameter ? "," : "");
    tt__copy(x->parameter, sizeof x->parameter, name);
    tt__json_string(&j, NULL, name);
    return TT_OK;
}

static tt_status write_value_row(export *x, sqlite3_stmt *stmt) {
    const char *name = tt__db_text(stmt, 0), *value = tt__db_text(stmt, 1);
    tt__json j = {.out = x->out};
    if (!name || !value)
        return tt__fail_memory(0);
    bool same = strcmp(x->parameter, name) == 0;
    tt__str_add(x->out, same ? "," : *x->parameter ? "],\n\"" : "\n\"");
    if (!same) {
        tt__copy(x->parameter, sizeof x->parameter, name);
        tt__str_add(x->out, name);
        tt__str_add(x->out, "\":[");
    }
    tt__json_value(&j, NULL, 0, value, strlen(value));
    return TT_OK;
}

/* "TILE_DIM=32 MODE=fast" is the entry "32,fast". */
static void write_cache_key(export *x, const char *config) {
    const char *sign = "\"";
    for (const char *value = strchr(config, '='); value; value = strchr(value + 1, '=')) {
        tt__str_add(x->out, sign);
        tt__str_addn(x->out, value + 1, strcspn(value + 1, " "));
        sign = ",";
    }
    tt__str_add(x->out, *sign == '"' ? "\"\":" : "\":");
}

static tt_status keep_weighed(export *x, sqlite3_stmt *stmt) {
    x->weighed = sqlite3_column_int(stmt, TT__TRIAL_COL_COUNT + 2) != 0;
    return TT_OK;
}

static tt_status write_cache_row(export *x, sqlite3_stmt *stmt) {
    static const char *const unknown[] = {"verification_time", "strategy_time", "framework_time"};
    const char *config = tt__db_text(stmt, TT__TRIAL_COL_COUNT);
    const char *stamp = tt__db_text(stmt, TT__TRIAL_COL_COUNT + 1);
    double sum_us = 0;
    tt__trial t;
    TT_TRY(tt__trial_read(x->store, stmt, &t));
    if (!config || !stamp)
        return tt__fail_memory(0);
    next_line(x);
    write_cache_key(x, config);
    tt__json j = {.out = x->out};
    tt__json_open(&j, NULL, '{');
    tt__json_settings(&j, config);
    if (t.status == TT__TRIAL_OK) {
        write_ms(&j, "time", t.time_us * 1e-3, TENTH_NS);
        if (x->weighed)
            write_ms(&j, "weighed_time", t.time_us * t.weight * 1e-3, TENTH_NS);
        write_samples(&j, "times", &t);
    } else {
        tt__json_string(&j, x->weighed ? "weighed_time" : "time", error_word(t.status));
        tt__json_string(&j, "__error__", error_word(t.status));
    }
    for (int i = 0; i < t.n_samples; i++)
        sum_us += (double)t.samples_us[i];
    write_ms(&j, "compile_time", t.compile_ms, US);
    write_ms(&j, "benchmark_time", sum_us * 1e-3, NS);
    for (size_t i = 0; i < TT__COUNT(unknown); i++)
        tt__json_int(&j, unknown[i], 0);
    tt__json_string(&j, "timestamp", stamp);
    tt__json_close(&j, '}');
    return TT_OK;
}

/* Up to three numbers, as a grid has them. */
static void write_problem_size(tt__json *j, const tt__problem *p) {
    tt__json_open(j, "problem_size", '[');
    for (int i = 0, n = 0; i < p->n && n < 3; i++)
        if (p->settings[i].type == TT__TYPE_NONE) {
            tt__json_int(j, NULL, p->settings[i].number);
            n++;
        }
    tt__json_close(j, ']');
}

static tt_status check_one(export *x) {
    TT_TRY(each_kernel(x, keep_kernel));
    const size_t kernels = x->n_rows;
    TT_TRY(each_row(x, TT__SQL_EXPORT_PROBLEMS, keep_problem));
    if (kernels != 1 || x->n_problems != 1)
        return tt__fail(TT_E_INVALID,
                        "a cache file is of one kernel and one problem, and here are trials of %zu and %zu: "
                        "choose with --kernel, and --problem, --size or --shape",
                        kernels, x->n_problems);
    x->least = x->most = *x->problems;
    return TT_OK;
}

static tt_status write_cache(export *x) {
    TT_TRY(choose(x));
    TT_TRY(check_one(x));
    tt__json j = {.out = x->out};
    tt__json_open(&j, NULL, '{');
    tt__json_string(&j, "device_name", x->gpu.name);
    tt__json_string(&j, "kernel_name", x->kernel);
    write_problem_size(&j, &x->problem);
    tt__str_add(x->out, ",\n\"tune_params_keys\":[");
    TT_TRY(each_row(x, TT__SQL_EXPORT_PARAMETERS, write_name_row));
    tt__str_add(x->out, "],\n\"tune_params\":{");
    x->parameter[0] = '\0';
    TT_TRY(each_row(x, TT__SQL_EXPORT_PARAMETERS, write_value_row));
    tt__str_add(x->out, *x->parameter ? "]\n},\n" : "},\n");
    TT_TRY(each_row(x, TT__SQL_EXPORT_CACHE, keep_weighed));
    tt__str_addf(x->out, "\"objective\":\"%s\",\n\"cache\":{", x->weighed ? "weighed_time" : "time");
    x->n_rows = 0;
    TT_TRY(each_row(x, TT__SQL_EXPORT_CACHE, write_cache_row));
    tt__str_add(x->out, "}\n}"); /* Kernel Tuner takes a file with this end for complete */
    return tt__str_check(x->out);
}

/* One transaction: all queries see the same state. */
static tt_status in_transaction(export *x, const tt__recording_part *part, tt_status (*write)(export *x)) {
    bool own = !x->store->grouped;
    if (part)
        x->part = *part;
    if (own)
        TT_TRY(tt__db_exec(x->store, TT__SQL_BEGIN_READING, ""));
    tt_status status = tt__db_end(x->store, own, write(x));
    tt__str_free(&x->live);
    free(x->problems);
    return status;
}

tt_status tt__recording_export(tt__store *s, int64_t gpu_id, const tt__recording_part *part,
                               const char *commit, tt__str *out) {
    export x = {.store = s, .gpu_id = gpu_id, .out = out, .commit = commit};
    return in_transaction(&x, part, write_all);
}

tt_status tt__recording_export_cache(tt__store *s, int64_t gpu_id, const tt__recording_part *part,
                                     tt__str *out) {
    export x = {.store = s, .gpu_id = gpu_id, .out = out};
    return in_transaction(&x, part, write_cache);
}
