/*
 * Unpacks files of other tuners, and finds out their format. Converts caches to T4 as Kernel Tuner and the
 * benchmark hub write it. docs/recordings.md says which parts are read.
 */
#include <zlib.h>

#include "db/exchange/import.h"

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
