/*
 * Recordings. A file is read into a store in memory, which then has a statement for each question. SQLite's
 * JSON functions take the file apart, and tables of fields say what it must have. An error names its place in
 * the file.
 */
#include "db/exchange/recording.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/str.h"
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

const char *tt__recording_left_out(const tt__recording *r) {
    return r->left_out;
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

/* ---- Places ---------------------------------------------------------------------------------- */

/* Prefixes the last error with its place. */
static tt_status at_place(tt__import *m, tt_status status) {
    return status == TT_OK ? TT_OK : tt__fail_prefix(status, "%s: %s", m->path, m->place);
}

#define T44 17592186044416.0

/* ---- Problems in format 2: one flat object --------------------------------------------------- */

static tt_status take_text(const tt__member *v, char *out, size_t size) {
    if (strcmp(v->type, "text") != 0)
        return tt__fail(TT_E_INVALID, "%s is %s: expected a text", v->key, v->type);
    if (!v->len || (size_t)v->len >= size || strlen(v->json) != (size_t)v->len)
        return tt__fail(TT_E_INVALID, "%s has %d bytes: expected 1 to %zu, and no NUL", v->key, v->len,
                        size - 1);
    tt__copy(out, size, v->json);
    return TT_OK;
}

static tt_status take_flag(const tt__member *v, bool *out) {
    *out = strcmp(v->type, "true") == 0;
    if (!*out && strcmp(v->type, "false") != 0)
        return tt__fail(TT_E_INVALID, "%s is %s: expected true or false", v->key, v->type);
    return TT_OK;
}

static tt_status read_setting(const tt__member *v, tt__problem *p) {
    if (p->n == TT__VARIABLES_MAX)
        return tt__fail(TT_E_INVALID, "more than %d variables", TT__VARIABLES_MAX);
    tt__setting *s = &p->settings[p->n++];
    if (strlen(v->key) >= sizeof s->name)
        return tt__fail(TT_E_INVALID, "a variable is named \"%.80s\": expected less than %zu bytes", v->key,
                        sizeof s->name);
    tt__copy(s->name, sizeof s->name, v->key);
    if (strcmp(v->type, "text") == 0) {
        s->type = tt__type_named(v->json, (size_t)v->len);
        return s->type != TT__TYPE_NONE
                   ? TT_OK
                   : tt__fail(TT_E_INVALID, "%s is \"%.40s\": there is no such element type", v->key,
                              v->json);
    }
    if (strcmp(v->type, "integer") != 0)
        return tt__fail(TT_E_INVALID, "%s is %s: expected an integer or an element type", v->key, v->type);
    if (!(v->number >= TT__NUMBER_LEAST && v->number <= T44))
        return tt__fail(TT_E_INVALID, "%s is %.40s: expected -1 to 2^44", v->key, v->json);
    s->number = (int64_t)v->number;
    return TT_OK;
}

static tt_status read_moved(const tt__member *v, tt__problem *p) {
    if (strcmp(v->type, "integer") != 0 && strcmp(v->type, "real") != 0)
        return tt__fail(TT_E_INVALID, "moved_bytes is %s: expected a number", v->type);
    p->moved_bytes = v->number;
    return TT_OK;
}

static tt_status on_member(tt__import *m, void *user, const tt__member *v) {
    tt__problem *p = user;
    (void)m;
    if (!v->key)
        return tt__fail_memory(0);
    if (strcmp(v->key, "op") == 0)
        return take_text(v, p->op, sizeof p->op);
    if (strcmp(v->key, "text") == 0)
        return take_text(v, p->text, sizeof p->text);
    if (strcmp(v->key, "warm") == 0)
        return take_flag(v, &p->warm);
    if (strcmp(v->key, "in_graph") == 0)
        return take_flag(v, &p->in_graph);
    if (strcmp(v->key, "unverified") == 0)
        return take_flag(v, &p->unverified);
    if (strcmp(v->key, "moved_bytes") == 0)
        return read_moved(v, p);
    return read_setting(v, p);
}

static tt_status read_flat(tt__import *m, const tt__member *v, tt__problem *out) {
    tt_status status = tt__import_walk(m, v, on_member, out);
    if (status == TT_OK && !*out->op)
        status = tt__fail(TT_E_INVALID, "op is missing");
    return status;
}

/* ---- Problems in format 1: a matrix, and a text `op` that may say something else ------------- */

enum { OP_MAX = 320 };

typedef struct matrix {
    char op[OP_MAX];
    int64_t rows, cols, lds, ldd, batch, src_stride, dst_stride, elem_size, align;
} matrix;

#define SIZE(m, max, optional) TT__FIELD_NUM_OF(matrix, m, #m, TT__FIELD_I64, 1, max, optional)
static const tt__field matrix_fields[] = {
    TT__FIELD_TEXT_OF(matrix, op, "op", 1, false),
    SIZE(rows, T44, false),
    SIZE(cols, T44, false),
    SIZE(lds, T44, false),
    SIZE(ldd, T44, false),
    SIZE(batch, T44, true),
    SIZE(src_stride, T44, true),
    SIZE(dst_stride, T44, true),
    SIZE(elem_size, 16, false),
    SIZE(align, 16, false),
};

/* Removes the suffix if `text` ends with it. */
static bool cut_suffix(char *text, const char *suffix) {
    size_t n = strlen(text), m = strlen(suffix);
    bool there = n >= m && strcmp(text + n - m, suffix) == 0;
    if (there)
        text[n - m] = '\0';
    return there;
}

static tt_status product(int64_t *out, const int64_t *factors, size_t n) {
    *out = 1;
    for (size_t i = 0; i < n; i++)
        if (__builtin_mul_overflow(*out, factors[i], out))
            return tt__fail(TT_E_INVALID, "%lld is too large with the other sizes", (long long)factors[i]);
    return TT_OK;
}

static tt_status from_copy(const matrix *x, tt__problem *out) {
    const int64_t factors[] = {x->rows, x->cols, x->batch, x->elem_size};
    int64_t bytes;
    TT_TRY(product(&bytes, factors, 4));
    tt__problem_set(out, "bytes", bytes);
    out->moved_bytes = 2 * (double)bytes;
    return TT_OK;
}

static tt_status from_matrix(matrix *x, tt__problem *out) {
    int64_t dst_rows = strncmp(x->op, "transpose", strlen("transpose")) == 0 ? x->cols : x->rows;
    if (!x->src_stride)
        TT_TRY(product(&x->src_stride, (int64_t[]){x->rows, x->lds}, 2));
    if (!x->dst_stride)
        TT_TRY(product(&x->dst_stride, (int64_t[]){dst_rows, x->ldd}, 2));
    const struct {
        const char *name;
        int64_t value;
    } values[] = {
        {"rows", x->rows},  {"cols", x->cols},   {"elem_size", x->elem_size},   {"lds", x->lds},
        {"ldd", x->ldd},    {"batch", x->batch}, {"src_stride", x->src_stride}, {"dst_stride", x->dst_stride},
        {"align", x->align}};
    for (size_t i = 0; i < TT__COUNT(values); i++)
        tt__problem_set(out, values[i].name, values[i].value);
    out->moved_bytes = 2.0 * (double)x->rows * (double)x->cols * (double)x->batch * (double)x->elem_size;
    return TT_OK;
}

/* Reads the variables of a user's kernel: "T=f32,n=4096". */
static tt_status from_variables(char *text, tt__problem *out) {
    for (char *at = text, *next; at && *at; at = next) {
        if ((next = strchr(at, ',')))
            *next++ = '\0';
        char *value = strchr(at, '=');
        if (!value || value - at >= TT__NAME_MAX || !value[1])
            return tt__fail(TT_E_INVALID, "op has \"%.80s\": expected VARIABLE=value", at);
        *value++ = '\0';
        if (out->n == TT__VARIABLES_MAX)
            return tt__fail(TT_E_INVALID, "op has more than %d variables", TT__VARIABLES_MAX);
        tt__type type = tt__type_named(value, strlen(value));
        if (type != TT__TYPE_NONE)
            tt__problem_set_type(out, at, type);
        else if (strcmp(value, "-1") == 0 ||
                 (strlen(value) < 16 && strspn(value, "0123456789") == strlen(value)))
            tt__problem_set(out, at, strtoll(value, NULL, 10));
        else
            return tt__fail(TT_E_INVALID, "op has %.80s=%.40s: expected a number or an element type", at,
                            value);
    }
    return TT_OK;
}

static tt_status read_matrix(tt__import *m, const tt__member *v, tt__problem *out) {
    matrix x = {0};
    TT_TRY(tt__import_fields(m, v, matrix_fields, TT__COUNT(matrix_fields), &x));
    x.batch += !x.batch;
    out->warm = cut_suffix(x.op, "/warm");
    char *variables = strchr(x.op, '/');
    out->unverified = variables && cut_suffix(variables, "/unverified");
    if (variables)
        *variables++ = '\0';
    if (!*x.op || strlen(x.op) >= sizeof out->op)
        return tt__fail(TT_E_INVALID, "op is \"%.80s\": expected a name, or NAME/VARIABLE=value,...", x.op);
    tt__copy(out->op, sizeof out->op, x.op);
    if (!variables)
        return strcmp(x.op, "copy") == 0 ? from_copy(&x, out) : from_matrix(&x, out);
    const char *hash = tt__recording_hash(m->r, x.op);
    tt__copy(out->text, sizeof out->text, hash ? hash : "");
    return from_variables(variables, out);
}

static tt_status read_problem(tt__import *m, const tt__member *v, tt__problem *out) {
    *out = (tt__problem){0};
    if (strcmp(v->type, "object") != 0)
        return tt__fail(TT_E_INVALID, "is %s: expected an object", v->type);
    TT_TRY(m->format == 1 ? read_matrix(m, v, out) : read_flat(m, v, out));
    return tt__check_problem(out);
}

/* ---- Metadata -------------------------------------------------------------------------------- */

typedef struct head {
    char schema_version[32];
    int format;
} head;

static const tt__field head_fields[] = {
    TT__FIELD_TEXT_OF(head, schema_version, "schema_version", 1, false),
    TT__FIELD_NUM_OF(head, format, "metadata.format", TT__FIELD_INT, 1, 1e6, false),
};

static tt_status on_head(tt__import *m, void *user, const tt__member *v) {
    (void)m;
    return tt__reading_take(user, "", v);
}

static tt_status on_format(tt__import *m, void *user, const tt__member *v) {
    (void)m;
    return tt__reading_take(user, "metadata.", v);
}

static tt_status read_head(tt__import *m) {
    head h = {0};
    tt__reading reading = {head_fields, TT__COUNT(head_fields), &h, 0};
    tt__copy(m->place, sizeof m->place, "not a recording that `tune export` wrote");
    TT_TRY(at_place(m, tt__import_walk_rest(m, "", on_head, &reading)));
    TT_TRY(at_place(m, tt__import_walk_rest(m, "metadata", on_format, &reading)));
    TT_TRY(at_place(m, tt__reading_end(&reading)));
    if (strncmp(h.schema_version, "1.", 2) != 0)
        return tt__fail(TT_E_INVALID, "%s: schema_version is %s: this tiletune reads T4 1.x", m->path,
                        h.schema_version);
    if (h.format > TT__RECORDING_FORMAT)
        return tt__fail(TT_E_INVALID,
                        "%s: metadata.format is %d, and this tiletune (%s) knows up to %d: upgrade it",
                        m->path, h.format, TT_VERSION, TT__RECORDING_FORMAT);
    m->format = h.format;
    return TT_OK;
}

/* Reads when the recording was made, which is the date of its trials. Without a valid date, that of
 * the file is taken. */
static tt_status read_date(tt__import *m, const tt__member *v) {
    sqlite3_stmt *stmt = NULL;
    TT_TRY(tt__import_prepare(m, &stmt, "SELECT CAST(strftime('%s', ?1) AS INTEGER) * 1000"));
    if (sqlite3_bind_text(stmt, 1, v->json, v->len, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        m->date_ms = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return TT_OK;
}

static tt_status on_metadata(tt__import *m, void *user, const tt__member *v) {
    (void)user;
    if (v->key && strcmp(v->key, "date") == 0 && strcmp(v->type, "text") == 0)
        return read_date(m, v);
    if (v->key && strcmp(v->key, "rules") == 0) {
        if (strcmp(v->type, "array") != 0)
            return tt__fail(TT_E_INVALID, "%s: metadata.rules is %s: expected an array", m->path, v->type);
        tt__str_addn(&m->rules, v->json, (size_t)v->len);
        return tt__str_check(&m->rules);
    }
    bool gpu = v->key && strcmp(v->key, "gpu") == 0, env = v->key && strcmp(v->key, "environment") == 0;
    if (!gpu && !env)
        return TT_OK;
    snprintf(m->place, sizeof m->place, "metadata.%s", v->key);
    if (strcmp(v->type, "object") != 0)
        return at_place(m, tt__fail(TT_E_INVALID, "is %s: expected an object", v->type));
    if (gpu)
        return at_place(m, tt__import_fields(m, v, tt__gpu_fields, TT__GPU_FIELDS, &m->r->gpu));
    return at_place(m, tt__import_fields(m, v, tt__env_fields, TT__ENV_FIELDS, &m->r->env));
}

static tt_status on_kernel(tt__import *m, void *user, const tt__member *v) {
    (void)user;
    TT_TRY(TT__GROW(m->r->kernels, m->r->n_kernels));
    tt__recorded_kernel *k = &m->r->kernels[m->r->n_kernels];
    if (!v->key || strlen(v->key) >= sizeof k->kernel || strcmp(v->type, "text") != 0 ||
        (size_t)v->len >= sizeof k->hash)
        return tt__fail(TT_E_INVALID,
                        "%s: metadata.kernels: \"%.80s\" is not a kernel name with the hash of its text",
                        m->path, v->key ? v->key : "");
    tt__copy(k->kernel, sizeof k->kernel, v->key);
    tt__copy(k->hash, sizeof k->hash, v->json);
    m->r->n_kernels++;
    return TT_OK;
}

static tt_status add_problem(tt__import *m, const tt__problem *p) {
    TT_TRY(TT__GROW(m->problems, m->n_problems));
    tt__copy(m->problems[m->n_problems].op, sizeof m->problems->op, p->op);
    TT_TRY(tt__store_problem(m->r->store, p, &m->problems[m->n_problems].id));
    m->n_problems++;
    return TT_OK;
}

static tt_status on_problem(tt__import *m, void *user, const tt__member *v) {
    (void)user;
    tt__problem p;
    TT_TRY(at_place(m, read_problem(m, v, &p)));
    return add_problem(m, &p);
}

static tt_status on_rule(tt__import *m, void *user, const tt__member *v) {
    const int64_t *gpu_id = user;
    tt__tuning_rule *rule;
    snprintf(m->place, sizeof m->place, "metadata.rules[%lld]", (long long)v->index);
    if (strcmp(v->type, "text") != 0)
        return at_place(m, tt__fail(TT_E_INVALID, "is %s: expected a text", v->type));
    TT_TRY(at_place(m, tt__rule_read(&rule, v->json)));
    tt_status status = tt__store_rule_put(m->r->store, *gpu_id, rule, m->date_ms);
    tt__rule_free(&rule);
    return status;
}

static tt_status read_rules(tt__import *m, int64_t gpu_id) {
    const tt__member rules = {.type = "array", .json = m->rules.text, .len = (int)m->rules.len};
    return m->rules.len ? tt__import_walk(m, &rules, on_rule, &gpu_id) : TT_OK;
}

/* ---- Results --------------------------------------------------------------------------------- */

typedef struct result {
    char kernel[TT__NAME_MAX], stage[8], invalidity[16], status[24], timestamp[32], bits[TT__BITS_TEXT_MAX];
    int problem;
    tt__reading reading; /* of these, and the trial */
    bool bad_time;       /* it has no time that could be one */
    tt__trial trial;
    tt__str config;
    tt__member configuration, times, runtimes, measurements, correctness; /* of the file */
} result;

#define TIME_MAX_MS 1e9
#define TIME_MIN_US 1e-4 /* a store keeps no less: 0.1 ns */
static const tt__field result_fields[] = {
    TT__FIELD_TEXT_OF(result, kernel, "kernel", 1, false),
    TT__FIELD_NUM_OF(result, problem, "problem", TT__FIELD_INT, 0, INT_MAX, false),
    TT__FIELD_TEXT_OF(result, stage, "stage", 1, false),
    TT__FIELD_TEXT_OF(result, invalidity, "invalidity", 1, false),
    TT__FIELD_TEXT_OF(result, status, "status", 1, true),
    TT__FIELD_TEXT_OF(result, trial.reason, "reason", 0, true),
    TT__FIELD_TEXT_OF(result, timestamp, "timestamp", 0, true),
    TT__FIELD_TEXT_OF(result, bits, "bits", 0, true),
    TT__FIELD_NUM_OF(result, trial.limit_s, "limit_s", TT__FIELD_F64, 0, TIME_MAX_MS, true),
    TT__FIELD_NUM_OF(result, trial.weight, "weight", TT__FIELD_F64, 1 / TT__WEIGHT_MAX, TT__WEIGHT_MAX, true),
    TT__FIELD_NUM_OF(result, trial.compile_ms, "times.compilation_time", TT__FIELD_F64, 0, TIME_MAX_MS,
                     false),
};

static const tt__field foreign_fields[] = {
    TT__FIELD_TEXT_OF(result, invalidity, "invalidity", 1, false),
    TT__FIELD_NUM_OF(result, trial.compile_ms, "times.compilation", TT__FIELD_F64, 0, TIME_MAX_MS, true),
};

static bool is_number(const tt__member *v) {
    return strcmp(v->type, "real") == 0 || strcmp(v->type, "integer") == 0;
}

static tt_status on_parameter(tt__import *m, void *user, const tt__member *v) {
    result *r = user;
    bool flag = strcmp(v->type, "true") == 0 || strcmp(v->type, "false") == 0; /* their value is 1 or 0 */
    if (strcmp(v->type, "integer") != 0 && strcmp(v->type, "text") != 0 &&
        !(m->foreign && (flag || strcmp(v->type, "real") == 0)))
        return tt__fail(TT_E_INVALID, "configuration.%.80s is %s: expected an integer or a text", v->key,
                        v->type);
    tt__str_add(&r->config, r->config.len ? " " : "");
    tt__str_add(&r->config, v->key);
    tt__str_add(&r->config, "=");
    if (m->foreign && fabs(v->number) < 1e15 && v->number == trunc(v->number) && is_number(v))
        tt__str_addf(&r->config, "%.0f", v->number); /* to Python, 32.0 is 32 */
    else
        tt__str_add(&r->config, v->json);
    return TT_OK;
}

static tt_status on_runtime(tt__import *m, void *user, const tt__member *v) {
    tt__trial *t = &((result *)user)->trial;
    if (m->foreign && t->n_samples == TT__SAMPLES_MAX) /* the first ones will do */
        return TT_OK;
    const double ms = v->number * (m->foreign ? m->ms_per_unit : 1);
    ((result *)user)->bad_time = !is_number(v) || !(ms >= 0 && ms <= TIME_MAX_MS);
    if (((result *)user)->bad_time)
        return tt__fail(TT_E_INVALID, "times.runtimes[%lld] is %.40s: expected milliseconds, 0 to %g",
                        (long long)v->index, is_number(v) ? v->json : v->type, TIME_MAX_MS);
    if (t->n_samples == TT__SAMPLES_MAX)
        return tt__fail(TT_E_INVALID, "times.runtimes has more than %d members", TT__SAMPLES_MAX);
    t->samples_us[t->n_samples++] = (float)(ms * 1e3);
    return TT_OK;
}

/* A member of measurements: its name, its value, and its unit. */
typedef struct measurement {
    bool named, time, regs;
    const char *type; /* of the value; NULL: it has none */
    double number;
    char text[48], unit[24];
} measurement;

static tt_status on_measured(tt__import *m, void *user, const tt__member *v) {
    measurement *x = user;
    (void)m;
    if (strcmp(v->key, "name") == 0 && !x->named) {
        x->named = true;
        x->time = strcmp(v->type, "text") == 0 && strcmp(v->json, "time") == 0;
        x->regs = strcmp(v->type, "text") == 0 && strcmp(v->json, "registers") == 0;
    } else if (strcmp(v->key, "value") == 0 && !x->type) {
        x->type = v->type;
        x->number = v->number;
        snprintf(x->text, sizeof x->text, "%.40s", is_number(v) ? v->json : v->type);
    } else if (strcmp(v->key, "unit") == 0 && strcmp(v->type, "text") == 0) {
        tt__copy(x->unit, sizeof x->unit, v->json);
    }
    return TT_OK;
}

/* A time has the unit that it says, else that of the file. */
static tt_status find_unit(const tt__import *m, const measurement *x, double *ms) {
    *ms = !x->time ? 1 : m->foreign ? m->ms_per_unit : 1;
    if (!x->time || !*x->unit)
        return TT_OK;
    const double said_ms = tt__import_unit_ms(x->unit);
    if (!(said_ms > 0) || (!m->foreign && said_ms != 1))
        return tt__fail(TT_E_INVALID, "measurements: the unit of time is \"%s\": expected %s", x->unit,
                        m->foreign ? "s, ms, us or ns" : "ms");
    *ms = said_ms;
    return TT_OK;
}

static tt_status on_measurement(tt__import *m, void *user, const tt__member *v) {
    tt__trial *t = &((result *)user)->trial;
    measurement x = {.text = "missing"};
    if (strcmp(v->type, "object") != 0)
        return TT_OK;
    TT_TRY(tt__import_walk(m, v, on_measured, &x));
    const char *type = x.type ? x.type : "missing";
    double unit_ms;
    TT_TRY(find_unit(m, &x, &unit_ms));
    const double most = x.time ? TIME_MAX_MS : 1e6, value = x.number * unit_ms;
    const bool number = strcmp(type, "real") == 0 || strcmp(type, "integer") == 0;
    bool none = m->foreign && (t->status != TT__TRIAL_OK || strcmp(type, "null") == 0);
    if ((!x.time && !x.regs) || (none && !number)) /* a failed trial has a word there */
        return TT_OK;
    ((result *)user)->bad_time = x.time && (!number || !(value >= 0 && value <= most));
    if (!number || !(value >= 0 && value <= most))
        return tt__fail(TT_E_INVALID, "measurements: %s is %s: expected a number from 0 to %g",
                        x.time ? "time" : "registers", x.text, most);
    if (x.time)
        t->time_us = value * 1e3;
    else
        t->regs = (int)value;
    return TT_OK;
}

/* The first of each name counts. */
static void keep(tt__member *out, const tt__member *v, const char *name) {
    if (!out->type && strcmp(v->key, name) == 0)
        *out = *v;
}

static tt_status on_top(tt__import *m, void *user, const tt__member *v) {
    result *r = user;
    (void)m;
    TT_TRY(tt__reading_take(&r->reading, "", v));
    keep(&r->configuration, v, "configuration");
    keep(&r->times, v, "times");
    keep(&r->measurements, v, "measurements");
    keep(&r->correctness, v, "correctness");
    return TT_OK;
}

static tt_status on_time(tt__import *m, void *user, const tt__member *v) {
    result *r = user;
    (void)m;
    keep(&r->runtimes, v, "runtimes");
    return tt__reading_take(&r->reading, "times.", v);
}

static tt_status walk_member(tt__import *m, const tt__member *of, const char *name, const char *type,
                             tt__member_fn fn, void *user) {
    if (!of->type || strcmp(of->type, "null") == 0)
        return TT_OK;
    if (strcmp(of->type, type) != 0)
        return tt__fail(TT_E_INVALID, "%s is %s: expected an %s", name, of->type, type);
    return tt__import_walk(m, of, fn, user);
}

/* `status` is ours and precise. `invalidity` is from T4 and always there. */
static tt_status find_status(const result *r, tt__trial_status *out) {
    int word = 0, s = 0;
    while (word < TT__TRIAL_STATUS_COUNT && strcmp(tt__t4_words[word], r->invalidity) != 0)
        word++;
    if (word == TT__TRIAL_STATUS_COUNT)
        return tt__fail(TT_E_INVALID, "invalidity is \"%s\": T4 has no such word", r->invalidity);
    *out = (tt__trial_status)word;
    if (!*r->status)
        return TT_OK;
    while (s < TT__TRIAL_STATUS_COUNT && strcmp(tt__trial_status_name((tt__trial_status)s), r->status) != 0)
        s++;
    if (s == TT__TRIAL_STATUS_COUNT)
        return tt__fail(TT_E_INVALID, "status is \"%s\": there is no such status", r->status);
    if ((s == TT__TRIAL_OK) != (word == TT__TRIAL_OK))
        return tt__fail(TT_E_INVALID, "status is \"%s\", but invalidity \"%s\"", r->status, r->invalidity);
    *out = (tt__trial_status)s;
    return TT_OK;
}

/* Older files say in the reason alone which limit was exceeded, and that the compiler failed. */
static void read_reason(tt__trial *t) {
    static const struct {
        tt__trial_status said, is;
        const char *begins;
    } rows[] = {{TT__TRIAL_TIMEOUT, TT__TRIAL_TIMEOUT, "ran longer than "},
                {TT__TRIAL_TIMEOUT, TT__TRIAL_COMPILE_TIMEOUT, "compiled longer than "},
                {TT__TRIAL_CRASHED, TT__TRIAL_COMPILER_CRASHED, "its compiler "}};
    for (size_t i = 0; i < TT__COUNT(rows) && !(t->limit_s > 0); i++) {
        const size_t n = strlen(rows[i].begins);
        if (t->status != rows[i].said || strncmp(t->reason, rows[i].begins, n) != 0)
            continue;
        const double limit_s = rows[i].said == TT__TRIAL_TIMEOUT ? tt__strtod(t->reason + n, NULL) : 0;
        t->status = rows[i].is;
        t->limit_s = limit_s > 0 && limit_s <= TIME_MAX_MS ? limit_s : 0;
        return;
    }
}

/* Kernel Tuner's time is a mean, too. */
static void fill_time(tt__trial *t) {
    double sum = 0;
    for (int i = 0; i < t->n_samples; i++)
        sum += (double)t->samples_us[i];
    if (t->status == TT__TRIAL_OK && !(t->time_us > 0) && t->n_samples)
        t->time_us = sum / t->n_samples;
}

static tt_status fit(const tt__import *m, result *r) {
    char config[TT__CONFIG_MAX];
    if (!m->foreign || !m->foreign->fits)
        return TT_OK;
    tt__copy(config, sizeof config, tt__str_text(&r->config));
    TT_TRY(m->foreign->fits(m->foreign, config, r->trial.status == TT__TRIAL_OK));
    tt__str_free(&r->config);
    tt__str_add(&r->config, config);
    return tt__str_check(&r->config);
}

static tt_status read_result(tt__import *m, const tt__member *v, result *r, tt__stage *stage) {
    if (strcmp(v->type, "object") != 0)
        return tt__fail(TT_E_INVALID, "is %s: expected an object", v->type);
    r->reading = (tt__reading){result_fields, TT__COUNT(result_fields), r, 0};
    if (m->foreign) {
        r->reading = (tt__reading){foreign_fields, TT__COUNT(foreign_fields), r, 0};
        tt__copy(r->kernel, sizeof r->kernel, m->foreign->kernel);
        tt__copy(r->stage, sizeof r->stage, "screen");
    }
    TT_TRY(tt__import_walk(m, v, on_top, r));
    TT_TRY(walk_member(m, &r->times, "times", "object", on_time, r));
    TT_TRY(tt__reading_end(&r->reading));
    if ((size_t)r->problem >= m->n_problems)
        return tt__fail(TT_E_INVALID, "problem is %d: metadata.problems has %zu", r->problem, m->n_problems);
    *stage = strcmp(r->stage, "final") == 0 ? TT__STAGE_FINAL : TT__STAGE_SCREEN;
    if (*stage == TT__STAGE_SCREEN && strcmp(r->stage, "screen") != 0)
        return tt__fail(TT_E_INVALID, "stage is \"%s\": expected screen or final", r->stage);
    TT_TRY(find_status(r, &r->trial.status));
    if ((r->trial.bits = tt__bits_read(r->bits)) < 0)
        return tt__fail(TT_E_INVALID, "bits is \"%s\": expected 16 hexadecimal digits, unstable or exact",
                        r->bits);
    read_reason(&r->trial);
    if (r->trial.status == TT__TRIAL_OK && r->correctness.type && is_number(&r->correctness) &&
        !(r->correctness.number > 0))
        return tt__fail(TT_E_INVALID, "correctness is 0, but invalidity \"correct\"");
    TT_TRY(walk_member(m, &r->configuration, "configuration", "object", on_parameter, r));
    TT_TRY(tt__str_check(&r->config));
    if (r->config.len >= TT__CONFIG_MAX)
        return tt__fail(TT_E_INVALID, "configuration has %zu bytes: expected less than %d", r->config.len,
                        TT__CONFIG_MAX);
    TT_TRY(tt__check_kernel(r->kernel));
    TT_TRY(tt__check_config(tt__str_text(&r->config)));
    TT_TRY(fit(m, r));
    TT_TRY(walk_member(m, &r->runtimes, "times.runtimes", "array", on_runtime, r));
    TT_TRY(walk_member(m, &r->measurements, "measurements", "array", on_measurement, r));
    if (m->foreign)
        fill_time(&r->trial);
    if (r->trial.status == TT__TRIAL_OK && !(r->trial.time_us >= TIME_MIN_US))
        return tt__fail(TT_E_INVALID, "measurements has no time above 0, but the result is correct");
    return TT_OK;
}

static tt_status store_result(tt__import *m, const result *r, tt__stage stage) {
    const char *hash = tt__recording_hash(m->r, r->kernel);
    int64_t config_id;
    TT_TRY(tt__store_config(m->r->store, r->kernel, m->problems[r->problem].op, hash ? hash : "",
                            tt__str_text(&r->config), &config_id));
    int64_t problem_id = m->problems[r->problem].id;
    TT_TRY(tt__store_trial_put(m->r->store, m->run_id, problem_id, config_id, stage, &r->trial));
    return tt__db_exec(m->r->store, TT__SQL_RECORDED_AT, "iiiit", problem_id, (int64_t)stage, config_id,
                       m->run_id, r->timestamp);
}

static tt_status on_result(tt__import *m, void *user, const tt__member *v) {
    (void)user;
    tt__stage stage = TT__STAGE_SCREEN;
    result r = {0};
    tt__member converted;
    if (m->cache && strcmp(v->type, "object") == 0) {
        TT_TRY(tt__import_convert(m, v, &converted));
        v = &converted;
    }
    tt_status status = at_place(m, read_result(m, v, &r, &stage));
    if (status == TT_E_INVALID && m->cache && r.bad_time)
        status = tt__import_leave_out(m);
    else if (status == TT_OK)
        status = store_result(m, &r, stage);
    tt__str_free(&r.config);
    return status;
}

static tt_status read_results(tt__import *m) {
    TT_TRY(tt__import_walk_part(m, m->cache ? TT__FILE_CACHE : TT__FILE_RESULTS, on_result, NULL));
    const size_t n = m->r->n_left_out;
    if (n && n == m->n_members)
        return tt__fail(TT_E_INVALID, "%s", m->r->left_out);
    char why[sizeof m->r->left_out];
    tt__copy(why, sizeof why, m->r->left_out);
    if (n) /* room for the number: a message is shorter than its buffer */
        tt__format(m->r->left_out, sizeof m->r->left_out, "%zu %s left out%s: %s", n,
                   n == 1 ? "member is" : "members are", n == 1 ? "" : ", the first", why);
    return TT_OK;
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* Reads the GPU and environment from the file, or takes the caller's. */
static tt_status read_metadata(tt__import *m) {
    if (m->foreign) {
        TT_TRY(tt__import_foreign_gpu(m));
        tt__copy(m->r->env.library, sizeof m->r->env.library, "T4");
        return add_problem(m, &m->foreign->problem);
    }
    TT_TRY(read_head(m));
    TT_TRY(tt__import_walk_rest(m, "metadata", on_metadata, NULL));
    if (!*m->r->gpu.name)
        return tt__fail(TT_E_INVALID, "%s: metadata.gpu is missing", m->path);
    if (!*m->r->env.library)
        return tt__fail(TT_E_INVALID, "%s: metadata.environment is missing, or its library is empty",
                        m->path);
    TT_TRY(tt__import_walk_rest(m, "metadata.kernels", on_kernel, NULL));
    return tt__import_walk_part(m, TT__FILE_PROBLEMS, on_problem, NULL);
}

/* 0: unknown. Archives may set the time to 0 or 1. */
static int64_t changed_ms(const tt__import *m) {
    const time_t first_cuda = 1167609600; /* 2007 */
    struct stat st;
    return stat(m->path, &st) == 0 && st.st_mtime >= first_cuda ? (int64_t)st.st_mtime * 1000 : 0;
}

/* A copy of the file is the same run, whatever its time: see RUN_FIND. */
static void identify(const tt__import *m, tt__origin *out) {
    char hash[TT__HASH_SIZE];
    tt__hash(hash, tt__str_text(&m->text), m->text.len);
    snprintf(out->file, sizeof out->file, "%.16s", hash);
}

static tt_status read_all(tt__import *m) {
    enum { DAY_MS = 86400000 };
    int64_t gpu_id;
    tt__origin origin = {.who = ""};
    TT_TRY(tt__import_unpack(m));
    TT_TRY(tt__import_split(m));
    TT_TRY(tt__import_tell(m));
    TT_TRY(tt__store_begin(m->r->store));
    TT_TRY(read_metadata(m));
    TT_TRY(tt__store_gpu(m->r->store, &m->r->gpu, &gpu_id));
    int64_t now = tt__unix_ms(), date = m->date_ms;
    if (!m->foreign && date > now + DAY_MS) /* clocks differ, but not by a day */
        return tt__fail(TT_E_INVALID, "%s: metadata.date is in the future", m->path);
    if (date <= 0 || date >= now) {
        identify(m, &origin);
        date = changed_ms(m);
    }
    date = date > 0 && date < now ? date : now;
    TT_TRY(tt__run_add(m->r->store, gpu_id, &m->r->env, "imported", date, &origin, &m->run_id));
    m->date_ms = date;
    TT_TRY(read_rules(m, gpu_id));
    TT_TRY(read_results(m));
    TT_TRY(tt__db_exec(m->r->store, TT__SQL_RECORDED_WINNERS, ""));
    return tt__store_commit(m->r->store);
}

tt_status tt__recording_read(tt__import *m) {
    m->db = m->r->store->db;
    locale_t before = tt__plain_enter(); /* SQLite's JSON functions may use strtod */
    tt_status status = read_all(m);
    tt__plain_leave(before);
    sqlite3_finalize(m->asked);
    sqlite3_finalize(m->member);
    sqlite3_finalize(m->entry);
    sqlite3_finalize(m->string);
    free(m->problems);
    tt__str_free(&m->text);
    tt__str_free(&m->rest);
    tt__str_free(&m->names);
    tt__str_free(&m->key);
    tt__str_free(&m->value);
    tt__str_free(&m->rules);
    return status;
}

tt_status tt__recording_open(tt__recording **out, const char *path) {
    return tt__recording_open_t4(out, path, NULL);
}

tt_status tt__recording_open_t4(tt__recording **out, const char *path, const tt__foreign *foreign) {
    tt__import m = {.path = path, .foreign = foreign};
    *out = NULL;
    TT_TRY(tt__read_file(&m.text, path));
    m.r = calloc(1, sizeof *m.r);
    tt_status status =
        m.r ? tt__store_open(&m.r->store, ":memory:", TT__STORE_READ_WRITE) : tt__fail_memory(sizeof *m.r);
    if (status == TT_OK) /* its references are all made here, and a file may have a million */
        tt__db_script(m.r->store, "PRAGMA foreign_keys = OFF");
    if (status == TT_OK)
        status = tt__recording_read(&m);
    else
        tt__str_free(&m.text);
    if (status == TT_OK)
        *out = m.r;
    else
        tt__recording_close(&m.r);
    return status;
}
