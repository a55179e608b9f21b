/* Checks of rows and texts, one for each noun; used in importing, merging and `tune check`. */
#include "db/checked.h"

#include <ctype.h>

#define UNIX_MS_MAX 4102444800000.0 /* the year 2100 */

static bool power_of_two_to_16(int n) {
    return n >= 1 && n <= 16 && (n & (n - 1)) == 0;
}

static size_t word_length(const char *text, const char *more) {
    size_t n = 0;
    while (text[n] && (isalnum((unsigned char)text[n]) || strchr(more, text[n])))
        n++;
    return n;
}

/* The length of "NAME=value,NAME=value", which may be nothing; SIZE_MAX if it is no such text. */
static size_t variables_length(const char *text) {
    size_t n = 0;
    for (bool more = *text && *text != '/'; more;) {
        size_t name = word_length(text + n, "_"), value = 0;
        if (name && text[n + name] == '=')
            value = word_length(text + n + name + 1, "");
        if (!value)
            return SIZE_MAX;
        n += name + 1 + value;
        more = text[n] == ',';
        n += more;
    }
    return n;
}

/* An op, as base/model.h has it. */
static tt_status check_op(const char *op) {
    size_t name = word_length(op, "_"), variables = 0;
    const char *rest = op + name;
    bool ok = name > 0 && name < TT__NAME_MAX && !isdigit((unsigned char)*op);
    if (ok && *rest == '/' && strcmp(rest, TT__WARM) != 0) {
        variables = variables_length(rest + 1);
        ok = variables != SIZE_MAX;
        rest += ok ? 1 + variables : 0;
        if (ok && strncmp(rest, TT__UNVERIFIED, strlen(TT__UNVERIFIED)) == 0)
            rest += strlen(TT__UNVERIFIED);
    }
    if (ok && strcmp(rest, TT__WARM) == 0)
        rest += strlen(TT__WARM);
    if (ok && !*rest)
        return TT_OK;
    return tt__fail(
        TT_E_INVALID,
        "op is \"%.80s\": expected a name, or of a kernel of somebody's own NAME/VARIABLE=value,...", op);
}

tt_status tt__check_problem(const tt__problem *p) {
    const int64_t elements_max = INT64_C(1) << 44;
    TT_TRY(check_op(p->op));
    if (p->lds < p->cols || p->ldd < tt__dst_cols(p))
        return tt__fail(TT_E_INVALID, "lds is %lld and ldd %lld: less than a row", (long long)p->lds,
                        (long long)p->ldd);
    if (p->lds > elements_max / p->rows || p->ldd > elements_max / tt__dst_rows(p))
        return tt__fail(TT_E_INVALID, "rows and cols are %lld and %lld: more than 2^44 elements",
                        (long long)p->rows, (long long)p->cols);
    if (p->src_stride > elements_max / p->batch || p->dst_stride > elements_max / p->batch)
        return tt__fail(TT_E_INVALID, "batch is %lld: more than 2^44 elements", (long long)p->batch);
    if (!power_of_two_to_16(p->elem_size) || !power_of_two_to_16(p->align))
        return tt__fail(TT_E_INVALID, "elem_size is %d and align %d: expected 1, 2, 4, 8 or 16", p->elem_size,
                        p->align);
    return TT_OK;
}

tt_status tt__check_kernel(const char *kernel) {
    size_t n = word_length(kernel, "_");
    if (n == 0 || kernel[n] || n >= TT__NAME_MAX || isdigit((unsigned char)*kernel))
        return tt__fail(TT_E_INVALID, "kernel is \"%.80s\": expected a name of letters, digits and _",
                        kernel);
    return TT_OK;
}

tt_status tt__check_config(const char *config) {
    const char *at = config;
    for (bool more = *config; more; more = *at++ == ' ') {
        size_t name = word_length(at, "_"), value = at[name] == '=' ? word_length(at + name + 1, "_.+-") : 0;
        at += name + 1 + value;
        if (!name || !value || (*at && *at != ' ') || strlen(config) >= TT__CONFIG_MAX)
            return tt__fail(TT_E_INVALID, "configuration is \"%.120s\": expected NAME=value NAME=value ...",
                            config);
    }
    return TT_OK;
}

tt_status tt__checked_gpu(sqlite3_stmt *stmt, int at, tt__gpu *out) {
    *out = (tt__gpu){0};
    TT_TRY(tt__fields_check(stmt, at, tt__gpu_fields, TT__GPU_FIELDS));
    tt__fields_read(stmt, at, tt__gpu_fields, TT__GPU_FIELDS, out);
    return TT_OK;
}

tt_status tt__checked_env(sqlite3_stmt *stmt, int at, tt__env *out) {
    *out = (tt__env){0};
    TT_TRY(tt__fields_check(stmt, at, tt__env_fields, TT__ENV_FIELDS));
    tt__fields_read(stmt, at, tt__env_fields, TT__ENV_FIELDS, out);
    return TT_OK;
}

tt_status tt__checked_problem(sqlite3_stmt *stmt, int at, tt__problem *out) {
    *out = (tt__problem){0};
    TT_TRY(tt__fields_check(stmt, at, tt__problem_fields, TT__PROBLEM_FIELDS));
    tt__fields_read(stmt, at, tt__problem_fields, TT__PROBLEM_FIELDS, out);
    return tt__check_problem(out);
}

static const tt__field text_fields[] = {
    TT__FIELD_TEXT_OF(tt__checked_text, kernel, "kernel", 1, false),
    TT__FIELD_TEXT_OF(tt__checked_text, op, "op", 1, false),
    TT__FIELD_TEXT_OF(tt__checked_text, hash, "hash", 0, false),
    TT__FIELD_TEXT_OF(tt__checked_text, config, "configuration", 0, false),
};

tt_status tt__checked_config(sqlite3_stmt *stmt, int at, tt__checked_text *out) {
    enum { N = sizeof text_fields / sizeof *text_fields };
    *out = (tt__checked_text){0};
    TT_TRY(tt__fields_check(stmt, at, text_fields, N));
    tt__fields_read(stmt, at, text_fields, N, out);
    TT_TRY(tt__check_kernel(out->kernel));
    return tt__check_config(out->config);
}

#define FIGURE(m, kind, max) TT__FIELD_NUM_OF(tt__winner, m, #m, kind, 0, max, false)
static const tt__field winner_fields[] = {
    FIGURE(time_us, TT__FIELD_F64, 1e12),        FIGURE(copy_us, TT__FIELD_F64, 1e12),
    FIGURE(copy_fraction, TT__FIELD_F64, 1e6),   FIGURE(speedup_vs_default, TT__FIELD_F64, 1e6),
    FIGURE(trials, TT__FIELD_I64, 1e9),          FIGURE(failed, TT__FIELD_I64, 1e9),
    FIGURE(unix_ms, TT__FIELD_I64, UNIX_MS_MAX),
};

tt_status tt__checked_winner(sqlite3_stmt *stmt, int at, tt__winner *out) {
    enum { N = sizeof winner_fields / sizeof *winner_fields };
    *out = (tt__winner){0};
    TT_TRY(tt__fields_check(stmt, at, winner_fields, N));
    tt__fields_read(stmt, at, winner_fields, N, out);
    return out->time_us > 0 ? TT_OK : tt__fail(TT_E_INVALID, "time_us is 0: expected more");
}
