/*
 * Takes a JSON file apart. Its long parts are found here, by brackets and strings alone. Everything else, and
 * each member of a part, is read by SQLite's functions. Files of other tuners are unpacked, told apart, and
 * caches are converted to T4 as Kernel Tuner and the benchmark hub write it. docs/recordings.md says which
 * parts are read.
 */
#include "db/exchange/import.h"

#include <limits.h>
#include <stdio.h>
#include <zlib.h>

#include "base/str.h"

tt_status tt__import_sql_failed(tt__import *m) {
    int rc = sqlite3_errcode(m->db);
    if ((rc & 0xff) == SQLITE_NOMEM)
        return tt__fail_memory(m->text.len);
    return tt__fail(TT_E_INVALID, "%s: %s", m->path, sqlite3_errmsg(m->db));
}

tt_status tt__import_prepare(tt__import *m, sqlite3_stmt **stmt, const char *sql) {
    return sqlite3_prepare_v2(m->db, sql, -1, stmt, NULL) == SQLITE_OK ? TT_OK : tt__import_sql_failed(m);
}

tt_status tt__import_ask(tt__import *m, const char *sql, const char **text) {
    sqlite3_finalize(m->asked);
    m->asked = NULL;
    TT_TRY(tt__import_prepare(m, &m->asked, sql));
    if (sqlite3_bind_text(m->asked, 1, tt__str_text(&m->rest), (int)m->rest.len, SQLITE_STATIC) !=
            SQLITE_OK ||
        sqlite3_step(m->asked) != SQLITE_ROW)
        return tt__import_sql_failed(m);
    *text = tt__db_text(m->asked, 0);
    return TT_OK;
}

/* TT_E_INVALID: there is no such object or array. */
static tt_status want(tt__import *m, const char *where, const char *type) {
    const char *actual = NULL;
    char sql[96];
    snprintf(sql, sizeof sql, "SELECT json_type(?1, '$.%s')", where);
    TT_TRY(tt__import_ask(m, sql, &actual));
    if (!actual || strcmp(actual, type) != 0)
        return tt__fail(TT_E_INVALID, "%s: %s is %s: expected an %s, as `tune export` writes it", m->path,
                        where, actual ? actual : "missing", type);
    return TT_OK;
}

/* ---- Parts ------------------------------------------------------------------------------------------- */

const char *const tt__import_parts[TT__FILE_COUNT] = {"results", "cache", "metadata.problems"};
static const struct {
    const char *outer, *name; /* outer NULL: the file's own object */
    char bracket;
} parts[TT__FILE_COUNT] = {{NULL, "results", '['}, {NULL, "cache", '{'}, {"metadata", "problems", '['}};

enum { DEPTH_MAX = 2000 }; /* SQLite's own */

/* A walk over the brackets of a text. */
typedef struct nesting {
    size_t depth;
    char open[DEPTH_MAX];
    struct {
        const char *text;
        size_t n;
    } keys[2]; /* the last ones of the outermost objects */
    bool key;  /* a key comes next, or the object ends */
} nesting;

/* The end of a string, at its closing quote; NULL: it has none. */
static const char *end_of_string(const char *at, const char *end) {
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\' && at + 1 < end;
    return at < end ? at : NULL;
}

/* Takes the next character, or all of a string. NULL: it cannot be JSON. SQLite 3.40 accepts {["a"]: 1} as
 * JSON, and then reads out of bounds. */
static const char *take(nesting *n, const char *at, const char *end) {
    if (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n')
        return at + 1;
    const bool key = n->key;
    if (key && *at != '"' && *at != '}')
        return NULL;
    n->key = *at == '{' || (*at == ',' && n->depth && n->open[n->depth - 1] == '{');
    if (*at == '"') {
        const char *last = end_of_string(at, end);
        if (last && key && n->depth <= 2) {
            n->keys[n->depth - 1].text = at + 1;
            n->keys[n->depth - 1].n = (size_t)(last - at) - 1;
        }
        return last ? last + 1 : NULL;
    }
    if (*at == '{' || *at == '[') {
        if (n->depth == DEPTH_MAX)
            return NULL;
        n->open[n->depth++] = *at;
    } else if (*at == '}' || *at == ']') {
        if (!n->depth || n->open[--n->depth] != (*at == '}' ? '{' : '['))
            return NULL;
    }
    return at + 1;
}

static bool is_key(const nesting *n, size_t level, const char *name) {
    return n->keys[level].n == strlen(name) && memcmp(n->keys[level].text, name, n->keys[level].n) == 0;
}

/* The part that begins with this bracket, or TT__FILE_COUNT. */
static tt__file_part part_at(const nesting *n, char bracket) {
    tt__file_part p = 0;
    const size_t depth = n->depth;
    if (depth < 1 || depth > 2 || n->open[0] != '{' || n->open[depth - 1] != '{')
        return TT__FILE_COUNT;
    while (p < TT__FILE_COUNT &&
           !(parts[p].bracket == bracket && is_key(n, depth - 1, parts[p].name) &&
             (parts[p].outer ? depth == 2 && is_key(n, 0, parts[p].outer) : depth == 1)))
        p++;
    return p;
}

/* Finds the parts and makes the rest. *yes: it may be JSON. */
static tt_status split(tt__import *m, bool *yes) {
    const char *text = tt__str_text(&m->text), *end = text + m->text.len, *kept = text, *valid;
    tt__file_part inside = TT__FILE_COUNT;
    size_t depth = 0; /* of the part */
    nesting n = {.depth = 0};
    *yes = false;
    tt__str_free(&m->rest);
    memset(m->parts, 0, sizeof m->parts);
    for (const char *at = text, *next; at < end; at = next) {
        tt__file_part begins =
            inside == TT__FILE_COUNT && (*at == '[' || *at == '{') ? part_at(&n, *at) : TT__FILE_COUNT;
        if (!(next = take(&n, at, end)))
            return TT_OK;
        if (begins < TT__FILE_COUNT && !m->parts[begins].begin) {
            inside = begins;
            depth = n.depth;
            m->parts[inside].begin = (size_t)(next - text);
            tt__str_addn(&m->rest, kept, (size_t)(next - kept));
        } else if (inside < TT__FILE_COUNT && n.depth < depth) {
            m->parts[inside].end = (size_t)(at - text);
            kept = at;
            inside = TT__FILE_COUNT;
        }
    }
    tt__str_addn(&m->rest, kept, (size_t)(end - kept));
    TT_TRY(tt__str_check(&m->rest));
    if (n.depth)
        return TT_OK;
    TT_TRY(tt__import_ask(m, "SELECT json_valid(?1)", &valid));
    *yes = sqlite3_column_int(m->asked, 0);
    return TT_OK;
}

/* While Kernel Tuner runs, its cache file ends with a comma. */
static tt_status end_cache(tt__import *m) {
    while (m->text.len && strchr(" \t\r\n", m->text.text[m->text.len - 1]))
        m->text.len--;
    m->text.len -= m->text.len && m->text.text[m->text.len - 1] == ',';
    tt__str_add(&m->text, "}}");
    return tt__str_check(&m->text);
}

/* Is the backslash at `at` one that another one stands for? */
static bool is_escaped(const char *text, const char *at) {
    size_t n = 0;
    while (at > text && *--at == '\\')
        n++;
    return n % 2;
}

tt_status tt__import_split(tt__import *m) {
    bool yes;
    size_t len = m->text.len, nul = m->text.text ? strlen(m->text.text) : 0;
    if (nul != m->text.len)
        return tt__fail(TT_E_INVALID, "%s: not JSON: a NUL byte at offset %zu", m->path, nul);
    if (m->text.len > INT_MAX)
        return tt__fail(TT_E_INVALID, "%s: %zu bytes: too large for a recording", m->path, m->text.len);
    for (const char *at = tt__str_text(&m->text); (at = strstr(at, "\\u0000")); at += 2)
        if (!is_escaped(tt__str_text(&m->text), at))
            return tt__fail(TT_E_INVALID, "%s: a text has a NUL character at offset %zu", m->path,
                            (size_t)(at - m->text.text));
    TT_TRY(split(m, &yes));
    if (!yes && strstr(tt__str_text(&m->text), "\"cache\"")) {
        TT_TRY(end_cache(m));
        TT_TRY(split(m, &yes));
    }
    return yes ? TT_OK
               : tt__fail(TT_E_INVALID, "%s: not valid JSON (%zu bytes): is the file complete?", m->path,
                          len);
}

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && strchr(" \t\r\n", *at))
        at++;
    return at;
}

/* The end of what lies between, without the blanks behind it. */
static const char *before_blanks(const char *at, const char *end) {
    while (end > at && strchr(" \t\r\n", end[-1]))
        end--;
    return end;
}

/* The end of a member, at the comma behind it or at the end of the part. Brackets are known to pair up. */
static const char *end_of_member(const char *at, const char *end) {
    for (size_t depth = 0; at < end && (*at != ',' || depth); at++) {
        depth += *at == '{' || *at == '[';
        depth -= *at == '}' || *at == ']';
        if (*at == '"')
            at = end_of_string(at, end);
    }
    return at;
}

/* The value of a member of an object. Of what is no member all is returned, which is not JSON. */
static const char *skip_key(const char *at, const char *end) {
    const char *value = *at == '"' ? end_of_string(at, end) : NULL;
    value = value ? skip_blanks(value + 1, end) : end;
    return value < end && *value == ':' ? skip_blanks(value + 1, end) : at;
}

/* The text of a string with its quotes. */
static tt_status read_string(tt__import *m, tt__str *out, const char *at, const char *end) {
    tt_status status = TT_OK;
    out->len = 0;
    if (!memchr(at, '\\', (size_t)(end - at))) {
        tt__str_addn(out, at + 1, (size_t)(end - at) - 2);
        return tt__str_check(out);
    }
    if (!m->string)
        TT_TRY(tt__import_prepare(m, &m->string, "SELECT json_extract(?1, '$')"));
    if (sqlite3_bind_text(m->string, 1, at, (int)(end - at), SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_step(m->string) == SQLITE_ROW && tt__db_text(m->string, 0))
        tt__str_addn(out, tt__db_text(m->string, 0), (size_t)sqlite3_column_bytes(m->string, 0));
    else
        status = tt__import_sql_failed(m);
    sqlite3_reset(m->string);
    return status == TT_OK ? tt__str_check(out) : status;
}

static tt_status read_value(tt__import *m, tt__member *v, const char *at, const char *end) {
    v->json = at;
    v->len = (int)(end - at);
    if (*at == '{' || *at == '[') {
        v->type = *at == '{' ? "object" : "array";
        return TT_OK;
    }
    m->value.len = 0;
    if (*at == '"') {
        v->type = "text";
        TT_TRY(read_string(m, &m->value, at, end));
    } else if (*at == 't' || *at == 'f') {
        v->type = *at == 't' ? "true" : "false";
        v->number = *at == 't';
        tt__str_add(&m->value, *at == 't' ? "1" : "0");
    } else if (*at == 'n') {
        v->type = "null";
        tt__str_add(&m->value, "");
    } else {
        tt__str_addn(&m->value, at, (size_t)(end - at));
        v->type = strpbrk(tt__str_text(&m->value), ".eE") ? "real" : "integer";
        v->number = tt__strtod(tt__str_text(&m->value), NULL);
    }
    v->json = tt__str_text(&m->value);
    v->len = (int)m->value.len;
    return tt__str_check(&m->value);
}

tt_status tt__import_walk(tt__import *m, const tt__member *of, tt__member_fn fn, void *user) {
    const char *end = of->json + of->len - 1, *at = skip_blanks(of->json + 1, end);
    for (int64_t i = 0; at < end; i++) {
        const char *last = end_of_member(at, end);
        tt__member v = {.index = i};
        if (*of->json == '{') {
            TT_TRY(read_string(m, &m->key, at, end_of_string(at, end) + 1));
            v.key = tt__str_text(&m->key);
            at = skip_key(at, last);
        }
        TT_TRY(read_value(m, &v, at, before_blanks(at, last)));
        TT_TRY(fn(m, user, &v));
        at = last < end ? skip_blanks(last + 1, end) : end;
    }
    return TT_OK;
}

static tt_status on_field(tt__import *m, void *user, const tt__member *v) {
    (void)m;
    return tt__reading_take(user, "", v);
}

tt_status tt__import_fields(tt__import *m, const tt__member *of, const tt__field *f, size_t n, void *object) {
    tt__reading reading = {.fields = f, .n = n, .object = object};
    TT_TRY(tt__import_walk(m, of, on_field, &reading));
    return tt__reading_end(&reading);
}

tt_status tt__import_walk_rest(tt__import *m, const char *where, tt__member_fn fn, void *user) {
    tt__member all = {.key = NULL};
    char sql[96];
    if (*where)
        TT_TRY(want(m, where, "object"));
    snprintf(sql, sizeof sql, "SELECT json_extract(?1, '$%s%s')", *where ? "." : "", where);
    TT_TRY(tt__import_ask(m, sql, &all.json));
    if (!all.json)
        return tt__fail_memory(m->rest.len);
    all.len = sqlite3_column_bytes(m->asked, 0);
    return tt__import_walk(m, &all, fn, user);
}

/* One measurement that is no number does not cost the others of hours. */
tt_status tt__import_leave_out(tt__import *m) {
    if (m->r->n_left_out++ == 0)
        tt__copy_short(m->r->left_out, sizeof m->r->left_out, tt_last_error());
    return TT_OK;
}

static tt_status take_member(tt__import *m, tt__member *v, tt__member_fn fn, void *user) {
    tt_status status = TT_OK;
    if (sqlite3_bind_text(m->member, 1, v->json, v->len, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_step(m->member) != SQLITE_ROW)
        status = tt__import_sql_failed(m);
    else if (!(v->type = tt__db_text(m->member, 0))) {
        tt__fail(TT_E_INVALID, "%s: %s is not valid JSON", m->path, m->place);
        status = m->cache ? tt__import_leave_out(m) : TT_E_INVALID;
    } else
        status = fn(m, user, v);
    sqlite3_reset(m->member);
    return status;
}

tt_status tt__import_walk_part(tt__import *m, tt__file_part part, tt__member_fn fn, void *user) {
    TT_TRY(want(m, tt__import_parts[part], parts[part].bracket == '[' ? "array" : "object"));
    const char *at = m->text.text + m->parts[part].begin, *end = m->text.text + m->parts[part].end;
    if (!m->member)
        TT_TRY(tt__import_prepare(m, &m->member, "SELECT CASE WHEN json_valid(?1) THEN json_type(?1) END"));
    at = skip_blanks(at, end);
    bool more = at < end;
    for (int64_t i = 0; more; i++) {
        const char *last = end_of_member(at, end),
                   *value = parts[part].bracket == '{' ? skip_key(at, last) : at;
        tt__member v = {.index = i, .json = value, .len = (int)(before_blanks(value, last) - value)};
        snprintf(m->place, sizeof m->place, "%s[%lld]", tt__import_parts[part], (long long)i);
        TT_TRY(take_member(m, &v, fn, user));
        m->n_members = (size_t)i + 1;
        more = last < end; /* a comma */
        at = more ? skip_blanks(last + 1, end) : end;
    }
    return TT_OK;
}

/* ---- gzip -------------------------------------------------------------------------------------- */

enum { UNPACKED_MAX = 1 << 29, GZIP = 16 + MAX_WBITS };

static tt_status inflate_all(z_stream *z, tt__str *out, const char *path) {
    unsigned char buffer[8192];
    int rc = Z_OK;
    while (rc == Z_OK) {
        z->next_out = buffer;
        z->avail_out = sizeof buffer;
        rc = inflate(z, Z_NO_FLUSH);
        tt__str_addn(out, buffer, sizeof buffer - z->avail_out);
        TT_TRY(tt__str_check(out));
        if (out->len > UNPACKED_MAX)
            return tt__fail(TT_E_INVALID, "%s: more than %d bytes when unpacked: too large for a recording",
                            path, UNPACKED_MAX);
    }
    if (rc == Z_MEM_ERROR)
        return tt__fail_memory(0);
    return rc == Z_STREAM_END
               ? TT_OK
               : tt__fail(TT_E_INVALID, "%s: gzip cannot unpack it (%s): is the file complete?", path,
                          z->msg ? z->msg : "it ends too early");
}

tt_status tt__import_unpack(tt__import *m) {
    tt__str out = {0};
    if (m->text.len < 2 || memcmp(m->text.text, "\x1f\x8b", 2) != 0)
        return TT_OK;
    z_stream z = {.next_in = (unsigned char *)m->text.text, .avail_in = (unsigned)m->text.len};
    if (inflateInit2(&z, GZIP) != Z_OK)
        return tt__fail_memory(0);
    tt__str_add(&out, "");
    tt_status status = inflate_all(&z, &out, m->path);
    inflateEnd(&z);
    tt__str_free(&m->text);
    m->text = out;
    return status;
}

/* ---- What it is -------------------------------------------------------------------------------- */

/* Makes T4 of a cache's member (?1). It has parameters, whose names are ?2, and measurements, or a word if it
 * failed. */
static const char entry_as_t4[] =
    "WITH words (word, invalidity) AS (VALUES ('CompilationFailedConfig', 'compile'),"
    "  ('RuntimeFailedConfig', 'runtime'), ('ErrorConfig', 'runtime'), ('InvalidConfig', 'constraints'))"
    "SELECT json_object("
    "   'configuration', (SELECT json_group_object(key, value) FROM json_each(?1)"
    "     WHERE key IN (SELECT value FROM json_each(?2))),"
    "   'invalidity', coalesce((SELECT invalidity FROM json_each(?1) AS e JOIN words ON word = e.value"
    "     WHERE e.type = 'text' LIMIT 1), 'correct'),"
    "   'times', json_object('compilation', coalesce(json_extract(?1, '$.compile_time'), 0),"
    "     'runtimes', json(CASE json_type(?1, '$.times') WHEN 'array'"
    "       THEN json_extract(?1, '$.times') ELSE '[]' END)),"
    "   'measurements', json_array(json_object('name', 'time', 'value', json_extract(?1, '$.time'))))";

static tt_status begin_cache(tt__import *m) {
    const char *names;
    TT_TRY(tt__import_ask(m,
                          "SELECT CASE json_type(?1, '$.tune_params_keys') WHEN 'array'"
                          " THEN json_extract(?1, '$.tune_params_keys') ELSE '[]' END",
                          &names));
    tt__str_add(&m->names, names ? names : "");
    m->cache = true;
    m->ms_per_unit = 1;
    TT_TRY(tt__str_check(&m->names));
    return tt__import_prepare(m, &m->entry, entry_as_t4);
}

tt_status tt__import_convert(tt__import *m, const tt__member *v, tt__member *out) {
    sqlite3_reset(m->entry);
    if (sqlite3_bind_text(m->entry, 1, v->json, v->len, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_bind_text(m->entry, 2, m->names.text, (int)m->names.len, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_step(m->entry) != SQLITE_ROW)
        return tt__import_sql_failed(m);
    *out = (tt__member){.index = v->index, .type = "object", .json = tt__db_text(m->entry, 0)};
    out->len = sqlite3_column_bytes(m->entry, 0);
    return out->json ? TT_OK : tt__fail_memory(0);
}

double tt__import_unit_ms(const char *unit) {
    static const struct {
        const char *unit;
        double ms;
    } units[] = {{"milliseconds", 1}, {"miliseconds", 1},     {"ms", 1},    {"seconds", 1e3},
                 {"s", 1e3},          {"microseconds", 1e-3}, {"us", 1e-3}, {"nanoseconds", 1e-6},
                 {"ns", 1e-6}};
    for (size_t i = 0; i < TT__COUNT(units); i++)
        if (tt__same_letters(unit, units[i].unit))
            return units[i].ms;
    return 0;
}

static tt_status read_unit(tt__import *m) {
    const char *unit;
    TT_TRY(tt__import_ask(m, "SELECT json_extract(?1, '$.metadata.timeunit')", &unit));
    m->ms_per_unit = unit ? tt__import_unit_ms(unit) : 1;
    return m->ms_per_unit > 0
               ? TT_OK
               : tt__fail(TT_E_INVALID,
                          "%s: metadata.timeunit is \"%.40s\": expected seconds, milliseconds, "
                          "microseconds or nanoseconds",
                          m->path, unit);
}

static tt_status fail_stranger(const tt__import *m, bool ktt) {
    return ktt ? tt__fail(TT_E_INVALID,
                          "%s: the output of KTT, which is not T4: its results have to become T4 first",
                          m->path)
               : tt__fail(TT_E_INVALID,
                          "%s: not a recording that `tune export` wrote, nor T4 results, nor a cache file of "
                          "Kernel "
                          "Tuner: it has no \"results\" and no \"cache\"",
                          m->path);
}

tt_status tt__import_tell(tt__import *m) {
    const char *found;
    TT_TRY(tt__import_ask(m,
                          "SELECT CASE WHEN json_type(?1, '$.metadata.format') IS NOT NULL THEN 'ours'"
                          " WHEN json_type(?1, '$.results') IS NOT NULL THEN 't4'"
                          " WHEN json_type(?1, '$.cache') = 'object' THEN 'cache'"
                          " WHEN json_type(?1, '$.Results') IS NOT NULL THEN 'ktt' ELSE '' END",
                          &found));
    if (!found)
        return tt__fail_memory(0);
    bool cache = strcmp(found, "cache") == 0;
    if (strcmp(found, "ours") == 0) {
        m->foreign = NULL;
        return TT_OK;
    }
    if (!cache && strcmp(found, "t4") != 0)
        return fail_stranger(m, *found != '\0');
    if (!m->foreign || m->foreign->missing)
        return tt__fail(
            TT_E_INVALID, "%s: %s, which does not say %sthe kernel and the problem: %s", m->path,
            cache ? "a cache file of Kernel Tuner" : "T4 of another tuner", cache ? "" : "the GPU, ",
            m->foreign ? m->foreign->missing : "\"tune import\" takes it with --gpu and --kernel");
    return cache ? begin_cache(m) : read_unit(m);
}

tt_status tt__import_foreign_gpu(tt__import *m) {
    const char *device, *slash = strrchr(m->path, '/');
    tt__gpu *gpu = &m->r->gpu;
    char text[TT__GPU_TEXT_MAX];
    *gpu = m->foreign->gpu;
    TT_TRY(tt__import_ask(m,
                          m->cache ? "SELECT CASE json_type(?1, '$.device_name') WHEN 'text'"
                                     " THEN json_extract(?1, '$.device_name') END"
                                   : "SELECT json_extract(?1, '$.device')",
                          &device));
    if (!*gpu->name)
        tt__gpu_set_text(gpu, device && *device ? device : slash ? slash + 1 : m->path);
    else if (device && !tt__has_letters(device, tt__gpu_text(text, gpu)) && !tt__has_letters(text, device))
        return tt__fail(TT_E_INVALID, "%s: device_name is \"%.90s\", and --gpu is %s", m->path, device, text);
    return TT_OK;
}
