/*
 * Winners: one for each GPU and problem, with all that is needed to check that it is still valid; the rules
 * for other problems; and the cubins that run.
 */
#include "base/clean.h"
#include "base/clock.h"
#include "db/conn.h"
#include "db/field.h"
#include "db/path.h"

tt_status tt__store_winner_put(tt__store *s, int64_t run_id, int64_t problem_id, int64_t config_id,
                               const tt__winner *w) {
    TT_TRY(tt__db_exec(s, TT__SQL_WINNER_PUT, "iiiddddiiiii", run_id, problem_id, config_id, w->time_us,
                       w->copy_us, w->copy_fraction, w->speedup_vs_default, w->trials, w->failed,
                       w->unix_ms ? w->unix_ms : tt__unix_ms(), w->bits, (int64_t)w->batch_invariant));
    if (sqlite3_changes(s->db) != 1)
        return tt__fail(TT_E_DB, "%s: cannot write a winner: there is no run %lld", s->path,
                        (long long)run_id);
    return TT_OK;
}

static tt_status read_winner(tt__store *s, sqlite3_stmt *stmt, tt__winner *w) {
    *w = (tt__winner){0};
    int at = tt__fields_read(stmt, 0, tt__gpu_fields, TT__GPU_FIELDS, &w->gpu);
    TT_TRY(tt__db_problem_read(s, stmt, at, &w->problem));
    at = tt__fields_read(stmt, at + TT__PROBLEM_COL_COUNT, tt__env_fields, TT__ENV_FIELDS, &w->env);
    tt__text_read(stmt, at++, w->kernel, sizeof w->kernel, TT__CLEAN_NAME);
    tt__text_read(stmt, at++, w->hash, sizeof w->hash, TT__CLEAN_NAME);
    tt__text_read(stmt, at++, w->config, sizeof w->config, TT__CLEAN_NAME);
    tt__copy(w->source, sizeof w->source, tt__run_source_name(sqlite3_column_int(stmt, at++)));
    tt__fields_read(stmt, at, tt__winner_fields, TT__WINNER_FIELDS, w);
    return TT_OK;
}

tt_status tt__store_winner_get(tt__store *s, int64_t gpu_id, int64_t problem_id, tt__winner *out,
                               bool *found) {
    sqlite3_stmt *stmt;
    *found = false;
    *out = (tt__winner){0};
    TT_TRY(tt__db_stmt(s, &stmt, TT__SQL_WINNER_GET, "ii", gpu_id, problem_id));
    tt_status status = tt__db_step(s, stmt, found);
    if (status == TT_OK && *found)
        status = read_winner(s, stmt, out);
    *found = *found && status == TT_OK;
    tt__db_done(stmt);
    return status;
}

tt_status tt__store_winner_batch(tt__store *s, int64_t gpu_id, int64_t problem_id, int batch_invariant) {
    return tt__db_exec(s, TT__SQL_WINNER_BATCH, "iii", gpu_id, problem_id, (int64_t)batch_invariant);
}

tt_status tt__store_has_winner(tt__store *s, int64_t gpu_id, int64_t problem_id, bool *has) {
    int64_t one;
    TT_TRY(tt__db_int(s, &one, 0, TT__SQL_WINNER_HAS, "ii", gpu_id, problem_id));
    *has = one != 0;
    return TT_OK;
}

tt_status tt__store_winners(tt__store *s, int64_t gpu_id, int cc, const char *op, tt__winner_fn fn,
                            void *user) {
    sqlite3_stmt *stmt;
    tt__sql sql = gpu_id ? TT__SQL_WINNERS_OF_GPU : TT__SQL_WINNERS_OF_CC;
    tt_status status = tt__db_stmt(s, &stmt, sql, "it", gpu_id ? gpu_id : (int64_t)cc, op);
    while (tt__db_next(s, stmt, &status)) {
        tt__winner w;
        status = read_winner(s, stmt, &w);
        if (status == TT_OK)
            status = fn(user, &w);
    }
    return status;
}

tt_status tt__store_winners_brief(tt__store *s, tt__winner_brief_fn fn, void *user) {
    sqlite3_stmt *stmt;
    tt__winner w = {0};
    tt_status status = tt__db_stmt(s, &stmt, TT__SQL_WINNERS_BRIEF, "");
    while (tt__db_next(s, stmt, &status)) {
        w.time_us = sqlite3_column_double(stmt, 2);
        tt__text_read(stmt, 3, w.kernel, sizeof w.kernel, TT__CLEAN_NAME);
        tt__text_read(stmt, 4, w.hash, sizeof w.hash, TT__CLEAN_NAME);
        tt__text_read(stmt, 5, w.config, sizeof w.config, TT__CLEAN_NAME);
        tt__copy(w.source, sizeof w.source, tt__run_source_name(sqlite3_column_int(stmt, 6)));
        tt__fields_read(stmt, 7, tt__env_fields, TT__ENV_FIELDS, &w.env);
        status = fn(user, sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1), &w);
    }
    return status;
}

/* ---- Rules ------------------------------------------------------------------------------------------- */

tt_status tt__store_rule_put(tt__store *s, int64_t gpu_id, const tt__tuning_rule *rule, int64_t unix_ms) {
    tt__str text = {0}, name = {0};
    tt__rule_write(&text, rule);
    tt_status status = tt__str_check(&text);
    if (status == TT_OK) {
        tt__str_addn(&name, text.text, (size_t)(strchr(strchr(text.text, '\n') + 1, '\n') - text.text));
        status = tt__str_check(&name);
    }
    if (status == TT_OK)
        status = tt__db_exec(s, TT__SQL_RULE_PUT, "itti", gpu_id, name.text, text.text, unix_ms);
    tt__str_free(&text);
    tt__str_free(&name);
    return status;
}

tt_status tt__store_rules(tt__store *s, int64_t gpu_id, tt__rule_fn fn, void *user) {
    sqlite3_stmt *stmt;
    tt_status status = tt__db_stmt(s, &stmt, TT__SQL_RULES, "i", gpu_id);
    while (tt__db_next(s, stmt, &status)) {
        const char *text = tt__db_text(stmt, 1);
        status = text ? fn(user, sqlite3_column_int64(stmt, 0), text, sqlite3_column_int64(stmt, 2))
                      : tt__fail_memory(0);
    }
    return status;
}

/* ---- Cubins. Each has a hash of its content, so that the driver gets exactly what the compiler made. */

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
