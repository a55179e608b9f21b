/*
 * Reads members of the shared structs from rows and JSON, and writes them as JSON, by table. Checks what
 * comes from outside.
 */
#include "db/field.h"

#include <ctype.h>
#include <limits.h>

#include "base/clock.h"
#include "base/str.h"
#include "db/conn.h"

#define T50 1125899906842624.0

#define GPU(m, kind, min, max) TT__FIELD_NUM_OF(tt__gpu, m, #m, kind, min, max, false)
const tt__field tt__gpu_fields[TT__GPU_FIELDS] = {
    TT__FIELD_TEXT_OF(tt__gpu, name, "name", 1, false),
    TT__FIELD_TEXT_OF(tt__gpu, mig, "mig", 0, false),
    GPU(cc, TT__FIELD_INT, 10, 9999),
    GPU(sm_count, TT__FIELD_INT, 1, 1e6),
    GPU(memory_bytes, TT__FIELD_I64, 0, T50),
    GPU(l2_bytes, TT__FIELD_I64, 0, T50),
    GPU(max_threads_per_block, TT__FIELD_INT, 1, 1e6),
    GPU(shared_per_block, TT__FIELD_I64, 0, T50),
    GPU(peak_gbps, TT__FIELD_F64, 0, 1e9),
};

const tt__field tt__env_fields[TT__ENV_FIELDS] = {
    TT__FIELD_TEXT_OF(tt__env, driver, "driver", 0, false),
    TT__FIELD_TEXT_OF(tt__env, nvrtc, "nvrtc", 0, false),
    TT__FIELD_TEXT_OF(tt__env, library, "library", 0, false),
};

static void read_one(sqlite3_stmt *stmt, int at, const tt__field *f, void *object) {
    void *m = (char *)object + f->offset;
    switch (f->kind) {
    case TT__FIELD_TEXT: /* a reason may have lines */
        tt__text_read(stmt, at, m, f->size, strcmp(f->name, "reason") == 0 ? TT__CLEAN_TEXT : TT__CLEAN_NAME);
        break;
    case TT__FIELD_INT: {
        int64_t value = sqlite3_column_int64(stmt, at);
        *(int *)m = value > INT_MAX ? INT_MAX : value < INT_MIN ? INT_MIN : (int)value;
        break;
    }
    case TT__FIELD_I64:
        *(int64_t *)m = sqlite3_column_int64(stmt, at);
        break;
    case TT__FIELD_F64:
        *(double *)m = sqlite3_column_double(stmt, at);
        break;
    }
}

int tt__fields_read(sqlite3_stmt *stmt, int first, const tt__field *f, size_t n, void *object) {
    for (size_t i = 0; i < n; i++)
        read_one(stmt, first + (int)i, &f[i], object);
    return first + (int)n;
}

void tt__fields_write_json(tt__json *j, const tt__field *f, size_t n, const void *object) {
    for (size_t i = 0; i < n; i++) {
        const void *m = (const char *)object + f[i].offset;
        if (f[i].kind == TT__FIELD_TEXT)
            tt__json_string(j, f[i].name, m);
        else if (f[i].kind == TT__FIELD_F64)
            tt__json_number(j, f[i].name, *(const double *)m, 15);
        else
            tt__json_int(j, f[i].name, f[i].kind == TT__FIELD_INT ? *(const int *)m : *(const int64_t *)m);
    }
}

sqlite3_stmt *tt__fields_prepare_json(sqlite3 *db, const tt__field *f, size_t n) {
    tt__str sql = {0};
    sqlite3_stmt *stmt = NULL;
    for (size_t i = 0; i < n; i++)
        tt__str_addf(&sql, "%s json_type(?1, '$.%s'), json_extract(?1, '$.%s')", i ? "," : "SELECT",
                     f[i].name, f[i].name);
    if (!sql.failed)
        sqlite3_prepare_v2(db, sql.text, -1, &stmt, NULL);
    tt__str_free(&sql);
    return stmt;
}

/* Checks a column's value against its field. `type` is from json_type; NULL: missing. */
static tt_status check_value(sqlite3_stmt *stmt, int at, const tt__field *f, const char *type) {
    bool integral = type && strcmp(type, "integer") == 0;
    if (f->kind == TT__FIELD_TEXT) {
        if (!type || strcmp(type, "text") != 0)
            return tt__fail(TT_E_INVALID, "%s is %s: expected a text", f->name, type ? type : "missing");
        int len = sqlite3_column_bytes(stmt, at);
        const char *text = tt__db_text(stmt, at);
        if (len < f->min || len > f->max || !text || strlen(text) != (size_t)len)
            return tt__fail(TT_E_INVALID, "%s has %d bytes: expected %.0f to %.0f, and no NUL", f->name, len,
                            f->min, f->max);
        return TT_OK;
    }
    const char *wanted = f->kind == TT__FIELD_F64 ? "a number" : "an integer";
    bool number = integral || (type && f->kind == TT__FIELD_F64 && strcmp(type, "real") == 0);
    if (!number)
        return tt__fail(TT_E_INVALID, "%s is %s: expected %s", f->name, type ? type : "missing", wanted);
    double value = sqlite3_column_double(stmt, at);
    if (!(value >= f->min && value <= f->max))
        return tt__fail(TT_E_INVALID, "%s is %.17g: expected %s from %.17g to %.17g", f->name, value, wanted,
                        f->min, f->max);
    return TT_OK;
}

tt_status tt__fields_read_checked(sqlite3_stmt *stmt, int first, const tt__field *f, size_t n, void *object) {
    static const char *const types[] = {[SQLITE_INTEGER] = "integer",
                                        [SQLITE_FLOAT] = "real",
                                        [SQLITE_TEXT] = "text",
                                        [SQLITE_BLOB] = "blob",
                                        [SQLITE_NULL] = NULL};
    for (size_t i = 0; i < n; i++)
        TT_TRY(check_value(stmt, first + (int)i, &f[i], types[sqlite3_column_type(stmt, first + (int)i)]));
    tt__fields_read(stmt, first, f, n, object);
    return TT_OK;
}

tt_status tt__fields_read_json(sqlite3_stmt *stmt, const tt__field *f, size_t n, void *object,
                               const char *json, int len) {
    tt_status status = TT_OK;
    if (sqlite3_bind_text(stmt, 1, json, len, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_step(stmt) != SQLITE_ROW) {
        status = tt__fail(TT_E_INVALID, "%s", sqlite3_errmsg(sqlite3_db_handle(stmt)));
    }
    for (size_t i = 0; status == TT_OK && i < n; i++) {
        int at = 2 * (int)i;
        bool missing = sqlite3_column_type(stmt, at) == SQLITE_NULL;
        /* json_extract returns 1 for true and text for an object. Only json_type tells the difference. */
        if (!(missing && f[i].optional))
            status = check_value(stmt, at + 1, &f[i], tt__db_text(stmt, at));
        if (status == TT_OK)
            read_one(stmt, at + 1, &f[i], object);
    }
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    return status;
}

/* ---- Checks of rows and texts, for import, merge and `tune check` ------------------------------- */

static size_t word_length(const char *text, const char *more) {
    size_t n = 0;
    while (text[n] && (tt__is_alnum(text[n]) || strchr(more, text[n])))
        n++;
    return n;
}

static bool is_name(const char *text, size_t max) {
    size_t n = word_length(text, "_");
    return n > 0 && n < max && !text[n] && !isdigit((unsigned char)*text);
}

/* Names of a problem's own fields in a recording. */
static bool is_reserved(const char *name) {
    static const char *const names[] = {"op", "text", "warm", "unverified"};
    for (size_t i = 0; i < TT__COUNT(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

tt_status tt__check_problem(const tt__problem *p) {
    if (!(p->moved_bytes >= 0 && p->moved_bytes <= 0x1p60))
        return tt__fail(TT_E_INVALID, "moved_bytes is %g: expected 0 to 2^60", p->moved_bytes);
    const int64_t most = INT64_C(1) << 44;
    if (!is_name(p->op, sizeof p->op))
        return tt__fail(TT_E_INVALID, "op is \"%.80s\": expected a name of letters, digits and _", p->op);
    if (p->text[word_length(p->text, "")])
        return tt__fail(TT_E_INVALID, "text is \"%.80s\": expected the hash of a file", p->text);
    if (p->n < 0 || p->n > TT__VARIABLES_MAX)
        return tt__fail(TT_E_INVALID, "%d variables: expected up to %d", p->n, TT__VARIABLES_MAX);
    for (int i = 0; i < p->n; i++) {
        const tt__setting *s = &p->settings[i];
        if (!is_name(s->name, sizeof s->name) || is_reserved(s->name))
            return tt__fail(TT_E_INVALID,
                            "a variable is named \"%.80s\": expected a name of letters, digits and _",
                            s->name);
        for (int k = 0; k < i; k++)
            if (strcmp(p->settings[k].name, s->name) == 0)
                return tt__fail(TT_E_INVALID, "%s is there twice", s->name);
        if ((unsigned)s->type >= TT__TYPE_COUNT)
            return tt__fail(TT_E_INVALID, "%s is type %d: there is no such type", s->name, (int)s->type);
        if (s->type == TT__TYPE_NONE && (s->number < tt__problem_least(p, s->name) || s->number > most))
            return tt__fail(TT_E_INVALID, "%s is %lld: expected %lld to 2^44", s->name, (long long)s->number,
                            (long long)tt__problem_least(p, s->name));
    }
    return TT_OK;
}

tt_status tt__check_kernel(const char *kernel) {
    if (!is_name(kernel, TT__NAME_MAX))
        return tt__fail(TT_E_INVALID, "kernel is \"%.80s\": expected a name of letters, digits and _",
                        kernel);
    return TT_OK;
}

/* Is the name, with its equals sign, that of an earlier setting? */
static bool is_repeated(const char *config, const char *name, size_t n) {
    for (const char *at = config; at < name; at += strcspn(at, " ") + 1)
        if (strncmp(at, name, n) == 0)
            return true;
    return false;
}

tt_status tt__check_config(const char *config) {
    const char *at = config;
    for (bool more = *config; more; more = *at++ == ' ') {
        size_t name = word_length(at, "_"), value = at[name] == '=' ? word_length(at + name + 1, "_.+-") : 0;
        if (name && value && is_repeated(config, at, name + 1))
            return tt__fail(TT_E_INVALID, "configuration has %.*s twice", (int)name, at);
        at += name + 1 + value;
        if (!name || !value || (*at && *at != ' ') || strlen(config) >= TT__CONFIG_MAX)
            return tt__fail(TT_E_INVALID, "configuration is \"%.120s\": expected NAME=value NAME=value ...",
                            config);
    }
    return TT_OK;
}

tt_status tt__checked_gpu(sqlite3_stmt *stmt, int at, tt__gpu *out) {
    *out = (tt__gpu){0};
    return tt__fields_read_checked(stmt, at, tt__gpu_fields, TT__GPU_FIELDS, out);
}

tt_status tt__checked_env(sqlite3_stmt *stmt, int at, tt__env *out) {
    *out = (tt__env){0};
    return tt__fields_read_checked(stmt, at, tt__env_fields, TT__ENV_FIELDS, out);
}

static const tt__field text_fields[] = {
    TT__FIELD_TEXT_OF(tt__checked_text, kernel, "kernel", 1, false),
    TT__FIELD_TEXT_OF(tt__checked_text, op, "op", 1, false),
    TT__FIELD_TEXT_OF(tt__checked_text, hash, "hash", 0, false),
    TT__FIELD_TEXT_OF(tt__checked_text, config, "configuration", 0, false),
};

tt_status tt__checked_config(sqlite3_stmt *stmt, int at, tt__checked_text *out) {
    *out = (tt__checked_text){0};
    TT_TRY(tt__fields_read_checked(stmt, at, text_fields, TT__COUNT(text_fields), out));
    TT_TRY(tt__check_kernel(out->kernel));
    return tt__check_config(out->config);
}
