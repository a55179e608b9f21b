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

/* A reason may have lines. */
static const char *kept_in(const tt__field *f) {
    return strcmp(f->name, "reason") == 0 ? TT__CLEAN_TEXT : TT__CLEAN_NAME;
}

static void read_one(sqlite3_stmt *stmt, int at, const tt__field *f, void *object) {
    void *m = (char *)object + f->offset;
    switch (f->kind) {
    case TT__FIELD_TEXT:
        tt__text_read(stmt, at, m, f->size, kept_in(f));
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

/* Checks a value against its field. Without a type it is missing. */
static tt_status check_value(const tt__field *f, const tt__member *v) {
    const char *type = v->type;
    bool integral = type && strcmp(type, "integer") == 0;
    if (f->kind == TT__FIELD_TEXT) {
        if (!type || strcmp(type, "text") != 0)
            return tt__fail(TT_E_INVALID, "%s is %s: expected a text", f->name, type ? type : "missing");
        if (v->len < f->min || v->len > f->max || !v->text || strlen(v->text) != (size_t)v->len)
            return tt__fail(TT_E_INVALID, "%s has %d bytes: expected %.0f to %.0f, and no NUL", f->name,
                            v->len, f->min, f->max);
        return TT_OK;
    }
    const char *wanted = f->kind == TT__FIELD_F64 ? "a number" : "an integer";
    bool number = integral || (type && f->kind == TT__FIELD_F64 && strcmp(type, "real") == 0);
    if (!number)
        return tt__fail(TT_E_INVALID, "%s is %s: expected %s", f->name, type ? type : "missing", wanted);
    if (!(v->number >= f->min && v->number <= f->max))
        return tt__fail(TT_E_INVALID, "%s is %.17g: expected %s from %.17g to %.17g", f->name, v->number,
                        wanted, f->min, f->max);
    return TT_OK;
}

tt_status tt__fields_read_checked(sqlite3_stmt *stmt, int first, const tt__field *f, size_t n, void *object) {
    static const char *const types[] = {[SQLITE_INTEGER] = "integer",
                                        [SQLITE_FLOAT] = "real",
                                        [SQLITE_TEXT] = "text",
                                        [SQLITE_BLOB] = "blob",
                                        [SQLITE_NULL] = NULL};
    for (size_t i = 0; i < n; i++) {
        const int at = first + (int)i, type = sqlite3_column_type(stmt, at);
        tt__member v = {.type = types[type], .number = sqlite3_column_double(stmt, at)};
        if (type == SQLITE_TEXT) {
            v.len = sqlite3_column_bytes(stmt, at);
            v.text = tt__db_text(stmt, at);
        }
        TT_TRY(check_value(&f[i], &v));
    }
    tt__fields_read(stmt, first, f, n, object);
    return TT_OK;
}

/* The value is checked. Whole numbers are less than 2^53. */
static void take_value(const tt__field *f, const tt__member *v, void *object) {
    void *m = (char *)object + f->offset;
    if (f->kind == TT__FIELD_TEXT) {
        tt__copy(m, f->size, v->text);
        tt__clean(m, kept_in(f));
    } else if (f->kind == TT__FIELD_INT) {
        *(int *)m = (int)v->number;
    } else if (f->kind == TT__FIELD_I64) {
        *(int64_t *)m = (int64_t)v->number;
    } else {
        *(double *)m = v->number;
    }
}

const tt__member *tt__member_named(const tt__member *of, const char *key) {
    const tt__member *v = *of->type == 'o' ? tt__member_first(of) : NULL;
    while (v && !(*v->key == *key && strcmp(v->key, key) == 0))
        v = tt__member_next(of, v);
    return v;
}

tt_status tt__fields_read_json(const tt__member *of, const char *prefix, const tt__field *f, size_t n,
                               void *object) {
    const tt__member none = {.type = NULL};
    const size_t skip = strlen(prefix);
    for (size_t i = 0; i < n; i++) {
        const tt__member *v = of ? tt__member_named(of, f[i].name + skip) : NULL;
        if (!v && f[i].optional)
            continue;
        TT_TRY(check_value(&f[i], v ? v : &none));
        take_value(&f[i], v, object);
    }
    return TT_OK;
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
    static const char *const names[] = {"op", "text", "warm", "in_graph", "unverified"};
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
