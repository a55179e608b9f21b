/*
 * Recordings. A file is read into a store in memory, which then has a statement for each question. Tables of
 * fields say what it must have. An error names its place in the file.
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
    if (!v->len || (size_t)v->len >= size || strlen(v->text) != (size_t)v->len)
        return tt__fail(TT_E_INVALID, "%s has %d bytes: expected 1 to %zu, and no NUL", v->key, v->len,
                        size - 1);
    tt__copy(out, size, v->text);
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
        s->type = tt__type_named(v->text, (size_t)v->len);
        return s->type != TT__TYPE_NONE
                   ? TT_OK
                   : tt__fail(TT_E_INVALID, "%s is \"%.40s\": there is no such element type", v->key,
                              v->text);
    }
    if (strcmp(v->type, "integer") != 0)
        return tt__fail(TT_E_INVALID, "%s is %s: expected an integer or an element type", v->key, v->type);
    if (!(v->number >= TT__NUMBER_LEAST && v->number <= T44))
        return tt__fail(TT_E_INVALID, "%s is %.40s: expected -1 to 2^44", v->key, v->text);
    s->number = (int64_t)v->number;
    return TT_OK;
}

static bool is_number(const tt__member *v) {
    return strcmp(v->type, "real") == 0 || strcmp(v->type, "integer") == 0;
}

static tt_status read_moved(const tt__member *v, tt__problem *p) {
    if (!is_number(v))
        return tt__fail(TT_E_INVALID, "moved_bytes is %s: expected a number", v->type);
    p->moved_bytes = v->number;
    return TT_OK;
}

static tt_status read_member(const tt__member *v, tt__problem *p) {
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

static tt_status read_flat(const tt__member *of, tt__problem *out) {
    for (const tt__member *v = tt__member_first(of); v; v = tt__member_next(of, v))
        TT_TRY(read_member(v, out));
    return *out->op ? TT_OK : tt__fail(TT_E_INVALID, "op is missing");
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
    TT_TRY(tt__fields_read_json(v, "", matrix_fields, TT__COUNT(matrix_fields), &x));
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
    TT_TRY(m->format == 1 ? read_matrix(m, v, out) : read_flat(v, out));
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

static tt_status read_head(tt__import *m, const tt__member *metadata) {
    head h = {0};
    tt__copy(m->place, sizeof m->place, "not a recording that `tune export` wrote");
    TT_TRY(at_place(m, tt__fields_read_json(m->rest.items, "", head_fields, 1, &h)));
    TT_TRY(at_place(m, tt__fields_read_json(metadata, "metadata.", head_fields + 1, 1, &h)));
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
static tt_status read_date(tt__import *m, const tt__member *metadata) {
    const tt__member *v = tt__member_named(metadata, "date");
    return v && strcmp(v->type, "text") == 0
               ? tt__db_int(m->r->store, &m->date_ms, 0, TT__SQL_RECORDED_DATE, "t", v->text)
               : TT_OK;
}

/* Reads the object of this name, if it is there. */
static tt_status read_object(tt__import *m, const tt__member *metadata, const char *name, const tt__field *f,
                             size_t n, void *object) {
    const tt__member *v = tt__member_named(metadata, name);
    if (!v)
        return TT_OK;
    snprintf(m->place, sizeof m->place, "metadata.%s", name);
    if (strcmp(v->type, "object") != 0)
        return at_place(m, tt__fail(TT_E_INVALID, "is %s: expected an object", v->type));
    return at_place(m, tt__fields_read_json(v, "", f, n, object));
}

static tt_status read_kernel(tt__import *m, const tt__member *v) {
    TT_TRY(TT__GROW(m->r->kernels, m->r->n_kernels));
    tt__recorded_kernel *k = &m->r->kernels[m->r->n_kernels];
    if (strlen(v->key) >= sizeof k->kernel || strcmp(v->type, "text") != 0 ||
        (size_t)v->len >= sizeof k->hash)
        return tt__fail(TT_E_INVALID,
                        "%s: metadata.kernels: \"%.80s\" is not a kernel name with the hash of its text",
                        m->path, v->key);
    tt__copy(k->kernel, sizeof k->kernel, v->key);
    tt__copy(k->hash, sizeof k->hash, v->text);
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

static tt_status read_problems(tt__import *m) {
    const tt__member *v;
    tt__problem p;
    tt_status status = tt__import_begin(m, TT__FILE_PROBLEMS);
    while (tt__import_next(m, &v, &status)) {
        status = at_place(m, read_problem(m, v, &p));
        if (status == TT_OK)
            status = add_problem(m, &p);
    }
    return status;
}

static tt_status read_rule(tt__import *m, const tt__member *v, int64_t gpu_id, int at) {
    tt__tuning_rule *rule;
    snprintf(m->place, sizeof m->place, "metadata.rules[%d]", at);
    if (strcmp(v->type, "text") != 0)
        return at_place(m, tt__fail(TT_E_INVALID, "is %s: expected a text", v->type));
    TT_TRY(at_place(m, tt__rule_read(&rule, v->text)));
    tt_status status = tt__store_rule_put(m->r->store, gpu_id, rule, m->date_ms);
    tt__rule_free(&rule);
    return status;
}

static tt_status read_rules(tt__import *m, int64_t gpu_id) {
    const tt__member *metadata = tt__member_named(m->rest.items, "metadata");
    const tt__member *rules = metadata ? tt__member_named(metadata, "rules") : NULL;
    int at = 0;
    if (m->foreign || !rules)
        return TT_OK;
    for (const tt__member *v = tt__member_first(rules); v; v = tt__member_next(rules, v))
        TT_TRY(read_rule(m, v, gpu_id, at++));
    return TT_OK;
}

/* ---- Results --------------------------------------------------------------------------------- */

typedef struct result {
    char kernel[TT__NAME_MAX], stage[8], invalidity[16], status[24], timestamp[32], bits[TT__BITS_TEXT_MAX];
    int problem;
    bool bad_time; /* it has no time that could be one */
    tt__trial trial;
    tt__str config;
    int64_t config_id;
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

static tt_status read_parameter(const tt__import *m, result *r, const tt__member *v) {
    const bool flag = strcmp(v->type, "true") == 0 || strcmp(v->type, "false") == 0; /* 1 or 0 */
    if (strcmp(v->type, "integer") != 0 && strcmp(v->type, "text") != 0 &&
        !(m->foreign && (flag || strcmp(v->type, "real") == 0)))
        return tt__fail(TT_E_INVALID, "configuration.%.80s is %s: expected an integer or a text", v->key,
                        v->type);
    tt__str_addn(&r->config, " ", r->config.len > 0);
    tt__str_add(&r->config, v->key);
    tt__str_addn(&r->config, "=", 1);
    if (m->foreign && fabs(v->number) < 1e15 && v->number == trunc(v->number) && is_number(v))
        tt__str_addf(&r->config, "%.0f", v->number); /* to Python, 32.0 is 32 */
    else
        tt__str_addn(&r->config, v->text, (size_t)v->len);
    return TT_OK;
}

static tt_status read_runtimes(const tt__import *m, result *r, const tt__member *of) {
    tt__trial *t = &r->trial;
    int at = 0;
    for (const tt__member *v = tt__member_first(of); v; v = tt__member_next(of, v), at++) {
        if (m->foreign && t->n_samples == TT__SAMPLES_MAX) /* the first ones will do */
            return TT_OK;
        const double ms = v->number * (m->foreign ? m->ms_per_unit : 1);
        if ((r->bad_time = !is_number(v) || !(ms >= 0 && ms <= TIME_MAX_MS)))
            return tt__fail(TT_E_INVALID, "times.runtimes[%d] is %.40s: expected milliseconds, 0 to %g", at,
                            is_number(v) ? v->text : v->type, TIME_MAX_MS);
        if (t->n_samples == TT__SAMPLES_MAX)
            return tt__fail(TT_E_INVALID, "times.runtimes has more than %d members", TT__SAMPLES_MAX);
        t->samples_us[t->n_samples++] = (float)(ms * 1e3);
    }
    return TT_OK;
}

/* A time has the unit that it says, else that of the file. */
static tt_status find_unit(const tt__import *m, const tt__member *unit, double *ms) {
    *ms = m->foreign ? m->ms_per_unit : 1;
    if (!unit || strcmp(unit->type, "text") != 0 || !*unit->text)
        return TT_OK;
    const double said_ms = tt__import_unit_ms(unit->text);
    if (!(said_ms > 0) || (!m->foreign && said_ms != 1))
        return tt__fail(TT_E_INVALID, "measurements: the unit of time is \"%.23s\": expected %s", unit->text,
                        m->foreign ? "s, ms, us or ns" : "ms");
    *ms = said_ms;
    return TT_OK;
}

/* Of a time or a number of registers. A failed trial of another tuner has a word there. */
static tt_status read_measured(const tt__import *m, result *r, bool time, const tt__member *v,
                               double unit_ms) {
    static const tt__member missing = {.type = "missing", .text = ""};
    v = v ? v : &missing;
    const double most = time ? TIME_MAX_MS : 1e6, value = v->number * unit_ms;
    const bool number = is_number(v);
    if (m->foreign && !number && (r->trial.status != TT__TRIAL_OK || strcmp(v->type, "null") == 0))
        return TT_OK;
    r->bad_time = time && (!number || !(value >= 0 && value <= most));
    if (!number || !(value >= 0 && value <= most))
        return tt__fail(TT_E_INVALID, "measurements: %s is %.40s: expected a number from 0 to %g",
                        time ? "time" : "registers", number ? v->text : v->type, most);
    if (time)
        r->trial.time_us = value * 1e3;
    else
        r->trial.regs = (int)value;
    return TT_OK;
}

static tt_status read_measurements(const tt__import *m, result *r, const tt__member *of) {
    for (const tt__member *v = tt__member_first(of); v; v = tt__member_next(of, v)) {
        const tt__member *name = tt__member_named(v, "name");
        const bool text = name && strcmp(name->type, "text") == 0;
        const bool time = text && strcmp(name->text, "time") == 0;
        double unit_ms = 1;
        if (!time && !(text && strcmp(name->text, "registers") == 0))
            continue;
        if (time)
            TT_TRY(find_unit(m, tt__member_named(v, "unit"), &unit_ms));
        TT_TRY(read_measured(m, r, time, tt__member_named(v, "value"), unit_ms));
    }
    return TT_OK;
}

/* A member of this type, or NULL if it is not there or null. */
static tt_status find_member(const tt__member *of, const char *name, const char *type,
                             const tt__member **out) {
    const char *dot = strrchr(name, '.');
    const tt__member *v = of ? tt__member_named(of, dot ? dot + 1 : name) : NULL;
    *out = v && strcmp(v->type, "null") != 0 ? v : NULL;
    return !*out || strcmp(v->type, type) == 0
               ? TT_OK
               : tt__fail(TT_E_INVALID, "%s is %s: expected an %s", name, v->type, type);
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
    tt__copy(config, sizeof config, tt__str_text(&r->config));
    TT_TRY(tt__check_config(config));
    TT_TRY(m->foreign->fits(m->foreign, config, r->trial.status == TT__TRIAL_OK));
    tt__str_free(&r->config);
    tt__str_add(&r->config, config);
    return tt__str_check(&r->config);
}

/* The rest is checked where a configuration is new. */
static tt_status check_config(const tt__import *m, result *r) {
    TT_TRY(tt__str_check(&r->config));
    if (r->config.len >= TT__CONFIG_MAX)
        return tt__fail(TT_E_INVALID, "configuration has %zu bytes: expected less than %d", r->config.len,
                        TT__CONFIG_MAX);
    return m->foreign && m->foreign->fits ? fit(m, r) : TT_OK;
}

static tt_status read_result(const tt__import *m, const tt__member *v, result *r, tt__stage *stage) {
    const tt__member *times, *configuration, *runtimes, *measurements;
    const tt__field *fields = m->foreign ? foreign_fields : result_fields; /* the last is one of times */
    const size_t n = (m->foreign ? TT__COUNT(foreign_fields) : TT__COUNT(result_fields)) - 1;
    TT_TRY(tt__fields_read_json(v, "", fields, n, r));
    TT_TRY(find_member(v, "times", "object", &times));
    TT_TRY(tt__fields_read_json(times, "times.", fields + n, 1, r));
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
    const tt__member *correctness = tt__member_named(v, "correctness");
    if (r->trial.status == TT__TRIAL_OK && correctness && is_number(correctness) &&
        !(correctness->number > 0))
        return tt__fail(TT_E_INVALID, "correctness is 0, but invalidity \"correct\"");
    TT_TRY(find_member(v, "configuration", "object", &configuration));
    for (const tt__member *x = configuration ? tt__member_first(configuration) : NULL; x;
         x = tt__member_next(configuration, x))
        TT_TRY(read_parameter(m, r, x));
    TT_TRY(check_config(m, r));
    TT_TRY(find_member(times, "times.runtimes", "array", &runtimes));
    if (runtimes)
        TT_TRY(read_runtimes(m, r, runtimes));
    TT_TRY(find_member(v, "measurements", "array", &measurements));
    return measurements ? read_measurements(m, r, measurements) : TT_OK;
}

/* ---- Members of a cache of Kernel Tuner -------------------------------------------------------- */

static bool is_parameter(const tt__import *m, const char *key) {
    const tt__member *names = tt__member_named(m->rest.items, "tune_params_keys");
    for (const tt__member *v = names ? tt__member_first(names) : NULL; v; v = tt__member_next(names, v))
        if (strcmp(v->text, key) == 0)
            return true;
    return false;
}

/* A failed one has a word somewhere. */
static const char *find_failure(const tt__member *of) {
    static const char *const words[][2] = {{"CompilationFailedConfig", "compile"},
                                           {"RuntimeFailedConfig", "runtime"},
                                           {"ErrorConfig", "runtime"},
                                           {"InvalidConfig", "constraints"}};
    for (const tt__member *v = tt__member_first(of); v; v = tt__member_next(of, v))
        for (size_t i = 0; i < TT__COUNT(words); i++)
            if (strcmp(v->text, words[i][0]) == 0)
                return words[i][1];
    return "correct";
}

static tt_status read_entry(const tt__import *m, const tt__member *v, result *r) {
    static const tt__field compile_time =
        TT__FIELD_NUM_OF(result, trial.compile_ms, "compile_time", TT__FIELD_F64, 0, TIME_MAX_MS, true);
    static const tt__member none = {.type = "null", .text = ""};
    const tt__member *times = tt__member_named(v, "times"), *time = tt__member_named(v, "time");
    const tt__member *compiled = tt__member_named(v, "compile_time");
    tt__copy(r->invalidity, sizeof r->invalidity, find_failure(v));
    if (compiled && strcmp(compiled->type, "null") != 0)
        TT_TRY(tt__fields_read_json(v, "", &compile_time, 1, r));
    TT_TRY(find_status(r, &r->trial.status));
    for (const tt__member *x = tt__member_first(v); x; x = tt__member_next(v, x))
        if (is_parameter(m, x->key))
            TT_TRY(read_parameter(m, r, x));
    TT_TRY(check_config(m, r));
    if (times && strcmp(times->type, "array") == 0)
        TT_TRY(read_runtimes(m, r, times));
    return read_measured(m, r, true, time ? time : &none, m->ms_per_unit);
}

/* ---- Results, into the store ------------------------------------------------------------------- */

typedef struct results {
    tt__import *m;
    result r;
    tt__stage stage;
} results;

/* Reads one; *yes: it can be stored. */
static tt_status take_result(results *all, const tt__member *v, bool *yes) {
    tt__import *m = all->m;
    result *r = &all->r;
    tt__str config = r->config; /* its memory stays */
    config.len = 0;
    if (config.text)
        *config.text = '\0'; /* a result without parameters adds nothing */
    *r = (result){.config = config};
    all->stage = TT__STAGE_SCREEN;
    if (strcmp(v->type, "object") != 0)
        return tt__fail(TT_E_INVALID, "is %s: expected an object", v->type);
    if (m->foreign) {
        tt__copy(r->kernel, sizeof r->kernel, m->foreign->kernel);
        tt__copy(r->stage, sizeof r->stage, "screen");
    }
    TT_TRY(m->cache ? read_entry(m, v, r) : read_result(m, v, r, &all->stage));
    if (m->foreign)
        fill_time(&r->trial);
    if (r->trial.status == TT__TRIAL_OK && !(r->trial.time_us >= TIME_MIN_US))
        return tt__fail(TT_E_INVALID, "measurements has no time above 0, but the result is correct");
    *yes = true;
    return TT_OK;
}

static tt_status next_result(void *user, bool *more) {
    results *all = user;
    tt__import *m = all->m;
    const tt__member *v;
    tt_status status = TT_OK;
    *more = false;
    while (!*more && tt__import_next(m, &v, &status)) {
        status = at_place(m, take_result(all, v, more));
        if (status == TT_E_INVALID && m->cache && all->r.bad_time)
            status = tt__import_leave_out(m);
    }
    if (status == TT_OK && *more)
        status = tt__trial_check(&all->r.trial);
    return status == TT_OK && *more ? tt__import_config(m, all->r.kernel, m->problems[all->r.problem].op,
                                                        &all->r.config, &all->r.config_id)
                                    : status;
}

static void put_column(void *user, sqlite3_context *out, int at) {
    const results *all = user;
    const int64_t ids[] = {all->m->problems[all->r.problem].id, all->stage, all->r.config_id, all->m->run_id};
    if (at < TT__TRIAL_COL_COUNT)
        tt__trial_column(&all->r.trial, out, at);
    else if (at < TT__TRIAL_COL_COUNT + (int)TT__COUNT(ids))
        sqlite3_result_int64(out, ids[at - TT__TRIAL_COL_COUNT]);
    else
        sqlite3_result_text(out, all->r.timestamp, -1, SQLITE_STATIC);
}

static tt_status read_results(tt__import *m) {
    results all = {.m = m};
    tt__pull pull = {.next = next_result, .column = put_column, .user = &all};
    TT_TRY(tt__import_begin(m, m->cache ? TT__FILE_CACHE : TT__FILE_RESULTS));
    tt_status status = tt__db_pull(m->r->store, TT__SQL_RECORDED_TRIALS, &pull, "i", m->date_ms);
    tt__str_free(&all.r.config);
    TT_TRY(status);
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
    const tt__member *metadata, *kernels, *rules;
    TT_TRY(tt__import_object(m, m->rest.items, "metadata", "metadata", &metadata));
    TT_TRY(read_head(m, metadata));
    TT_TRY(read_date(m, metadata));
    rules = tt__member_named(metadata, "rules");
    if (rules && strcmp(rules->type, "array") != 0)
        return tt__fail(TT_E_INVALID, "%s: metadata.rules is %s: expected an array", m->path, rules->type);
    TT_TRY(read_object(m, metadata, "gpu", tt__gpu_fields, TT__GPU_FIELDS, &m->r->gpu));
    TT_TRY(read_object(m, metadata, "environment", tt__env_fields, TT__ENV_FIELDS, &m->r->env));
    if (!*m->r->gpu.name)
        return tt__fail(TT_E_INVALID, "%s: metadata.gpu is missing", m->path);
    if (!*m->r->env.library)
        return tt__fail(TT_E_INVALID, "%s: metadata.environment is missing, or its library is empty",
                        m->path);
    TT_TRY(tt__import_object(m, metadata, "kernels", "metadata.kernels", &kernels));
    for (const tt__member *v = tt__member_first(kernels); v; v = tt__member_next(kernels, v))
        TT_TRY(read_kernel(m, v));
    return read_problems(m);
}

/* 0: unknown. Archives may set the time to 0 or 1. */
static int64_t changed_ms(const tt__import *m) {
    const time_t first_cuda = 1167609600; /* 2007 */
    struct stat st;
    return stat(m->path, &st) == 0 && st.st_mtime >= first_cuda ? (int64_t)st.st_mtime * 1000 : 0;
}

/* A copy of the file is the same run, whatever its time: see RUN_FIND. */
static tt_status identify(tt__import *m, tt__origin *out) {
    char hash[TT__HASH_SIZE];
    TT_TRY(tt__import_hash(m, hash));
    snprintf(out->file, sizeof out->file, "%.16s", hash);
    return TT_OK;
}

static tt_status read_all(tt__import *m) {
    enum { DAY_MS = 86400000 };
    int64_t gpu_id;
    tt__origin origin = {.who = ""};
    TT_TRY(tt__import_open(m));
    TT_TRY(tt__import_tell(m));
    TT_TRY(tt__store_begin(m->r->store));
    TT_TRY(read_metadata(m));
    TT_TRY(tt__store_gpu(m->r->store, &m->r->gpu, &gpu_id));
    int64_t now = tt__unix_ms(), date = m->date_ms;
    if (!m->foreign && date > now + DAY_MS) /* clocks differ, but not by a day */
        return tt__fail(TT_E_INVALID, "%s: metadata.date is in the future", m->path);
    if (date <= 0 || date >= now) {
        TT_TRY(identify(m, &origin));
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
    locale_t before = tt__plain_enter(); /* once, as many numbers are read */
    tt_status status = read_all(m);
    tt__plain_leave(before);
    tt__import_close(m);
    free(m->problems);
    return status;
}

tt_status tt__recording_open(tt__recording **out, const char *path) {
    return tt__recording_open_t4(out, path, NULL);
}

tt_status tt__recording_open_t4(tt__recording **out, const char *path, const tt__foreign *foreign) {
    tt__import m = {.path = path, .foreign = foreign};
    *out = NULL;
    m.r = calloc(1, sizeof *m.r);
    tt_status status =
        m.r ? tt__store_open(&m.r->store, ":memory:", TT__STORE_READ_WRITE) : tt__fail_memory(sizeof *m.r);
    if (status == TT_OK)
        status = tt__recording_read(&m);
    if (status == TT_OK)
        *out = m.r;
    else
        tt__recording_close(&m.r);
    return status;
}
