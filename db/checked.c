/*
 * Checks of rows and texts, one for each kind, for import, merge and `tune check`.
 */
#include "db/checked.h"

#include <ctype.h>

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
        if (s->type == TT__TYPE_NONE && (s->number < 1 || s->number > most))
            return tt__fail(TT_E_INVALID, "%s is %lld: expected 1 to 2^44", s->name, (long long)s->number);
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
