/*
 * Cubins. Each has a hash of its content, so that the driver gets exactly what the compiler made.
 */
#include "db/conn.h"
#include "db/path.h"

tt_status tt__store_cubin_put(tt__store *s, const char *key, const void *cubin, size_t size) {
    char hash[TT__HASH_SIZE];
    tt__hash(hash, cubin, size);
    return tt__db_exec(s, TT__SQL_CUBIN_PUT, "ttb", key, hash, size ? cubin : "", size);
}

/* Reads the cubin from a row of CUBIN_GET. */
static tt_status take(tt__store *s, sqlite3_stmt *stmt, const char *key, tt__str *out) {
    char actual[TT__HASH_SIZE];
    const char *hash = tt__db_text(stmt, 0);
    const void *image = sqlite3_column_blob(stmt, 1);
    size_t size = (size_t)sqlite3_column_bytes(stmt, 1);
    if (!hash || (size && !image))
        return tt__fail_memory(size);
    if (!image)
        image = "";
    tt__hash(actual, image, size);
    if (strcmp(actual, hash) != 0)
        return tt__fail(TT_E_DB, "%s: the cubin %s is damaged: its content does not match its hash", s->path,
                        key);
    tt__str_addn(out, image, size);
    return tt__str_check(out);
}

tt_status tt__store_cubin_get(tt__store *s, const char *key, tt__str *out, bool *found) {
    sqlite3_stmt *stmt;
    *found = false;
    TT_TRY(tt__db_stmt(s, &stmt, TT__SQL_CUBIN_GET, "t", key));
    tt_status status = tt__db_step(s, stmt, found);
    if (status == TT_OK && *found && s->no_code)
        status = tt__path_check_code(s->path);
    if (status == TT_OK && *found)
        status = take(s, stmt, key, out);
    if (status != TT_OK)
        *found = false;
    tt__db_done(stmt);
    return status;
}

tt_status tt__store_cubin_link(tt__store *s, const char *template_hash, const char *config, int elem_size,
                               int cc, const char *key) {
    return tt__db_exec(s, TT__SQL_CUBIN_LINK, "ttiit", template_hash, config, (int64_t)elem_size, (int64_t)cc,
                       key);
}

tt_status tt__store_cubin_linked(tt__store *s, const char *template_hash, const char *config, int elem_size,
                                 int cc, bool *found) {
    int64_t one;
    tt_status status = tt__db_int(s, &one, 0, TT__SQL_CUBIN_LINKED, "ttii", template_hash, config,
                                  (int64_t)elem_size, (int64_t)cc);
    *found = one != 0;
    return status;
}

tt_status tt__store_cubin_find(tt__store *s, const char *template_hash, const char *config, int elem_size,
                               int cc, tt__str *out, bool *found) {
    sqlite3_stmt *stmt;
    *found = false;
    TT_TRY(tt__db_stmt(s, &stmt, TT__SQL_CUBIN_FIND, "ttii", template_hash, config, (int64_t)elem_size,
                       (int64_t)cc));
    tt_status status = tt__db_step(s, stmt, found);
    if (status == TT_OK && *found) {
        const char *key = tt__db_text(stmt, 0);
        if (key)
            tt__str_add(out, key);
        status = key ? tt__str_check(out) : tt__fail_memory(0);
    }
    if (status != TT_OK)
        *found = false;
    tt__db_done(stmt);
    return status;
}
