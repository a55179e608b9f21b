/*
 * Reads problems of a recording in formats 2 and 1.
 */
#include <stdlib.h>
#include <string.h>

#include "db/exchange/import.h"
#include "db/field.h"

#define T44 17592186044416.0

/* ---- Format 2: one flat object ----------------------------------------------------------------- */

static tt_status read_text(const tt__member *v, char *out, size_t size) {
    if (strcmp(v->type, "text") != 0)
        return tt__fail(TT_E_INVALID, "%s is %s: expected a text", v->key, v->type);
    if (!v->len || (size_t)v->len >= size || strlen(v->json) != (size_t)v->len)
        return tt__fail(TT_E_INVALID, "%s has %d bytes: expected 1 to %zu, and no NUL", v->key, v->len,
                        size - 1);
    tt__copy(out, size, v->json);
    return TT_OK;
}

static tt_status read_flag(const tt__member *v, bool *out) {
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
        return read_text(v, p->op, sizeof p->op);
    if (strcmp(v->key, "text") == 0)
        return read_text(v, p->text, sizeof p->text);
    if (strcmp(v->key, "warm") == 0)
        return read_flag(v, &p->warm);
    if (strcmp(v->key, "unverified") == 0)
        return read_flag(v, &p->unverified);
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

/* ---- Format 1: a matrix, and a text `op` that may say something else ---------------------------- */

enum { OP_MAX = 320 };

typedef struct matrix {
    char op[OP_MAX];
    int64_t rows, cols, lds, ldd, batch, src_stride, dst_stride, elem_size, align;
} matrix;

#define NUMBER(m, max, optional) TT__FIELD_NUM_OF(matrix, m, #m, TT__FIELD_I64, 1, max, optional)
static const tt__field matrix_fields[] = {
    TT__FIELD_TEXT_OF(matrix, op, "op", 1, false),
    NUMBER(rows, T44, false),
    NUMBER(cols, T44, false),
    NUMBER(lds, T44, false),
    NUMBER(ldd, T44, false),
    NUMBER(batch, T44, true),
    NUMBER(src_stride, T44, true),
    NUMBER(dst_stride, T44, true),
    NUMBER(elem_size, 16, false),
    NUMBER(align, 16, false),
};
enum { MATRIX_FIELDS = TT__COUNT(matrix_fields) };

/* Removes the suffix if `text` ends with it. */
static bool cut(char *text, const char *suffix) {
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
    sqlite3_stmt *stmt = tt__fields_prepare_json(m->db, matrix_fields, MATRIX_FIELDS);
    if (!stmt)
        return tt__fail_memory(0);
    tt_status status = tt__fields_read_json(stmt, matrix_fields, MATRIX_FIELDS, &x, v->json, v->len);
    sqlite3_finalize(stmt);
    TT_TRY(status);
    x.batch += !x.batch;
    out->warm = cut(x.op, "/warm");
    char *variables = strchr(x.op, '/');
    out->unverified = variables && cut(variables, "/unverified");
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

tt_status tt__import_problem(tt__import *m, const tt__member *v, tt__problem *out) {
    *out = (tt__problem){0};
    if (strcmp(v->type, "object") != 0)
        return tt__fail(TT_E_INVALID, "is %s: expected an object", v->type);
    TT_TRY(m->format == 1 ? read_matrix(m, v, out) : read_flat(m, v, out));
    return tt__check_problem(out);
}
