/*
 * GPUs, environments, problems and configurations. A problem is a row with the operation, and a row for the
 * value of each variable. It is found by a key made of all values.
 */
#include "db/identity.h"

#include <stdio.h>
#include <string.h>

#include "db/conn.h"

static tt_status env_find(tt__store *s, const tt__env *env, int64_t *id) {
    return tt__db_int(s, id, -1, TT__SQL_ENV_FIND, "ttt", env->driver, env->nvrtc, env->library);
}

tt_status tt__env_id(tt__store *s, const tt__env *env, int64_t *id) {
    TT_TRY(env_find(s, env, id));
    if (*id >= 0 || s->mode == TT__STORE_READ_ONLY)
        return TT_OK;
    /* Changes nothing if another process has added it meanwhile. */
    TT_TRY(tt__db_exec(s, TT__SQL_ENV_ADD, "ttt", env->driver, env->nvrtc, env->library));
    return env_find(s, env, id);
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

/* The stored GPU with the same identity and the nearest memory size; *id is -1 if there is none. */
static tt_status gpu_find(tt__store *s, const tt__gpu *gpu, tt__gpu *stored, int64_t *id) {
    sqlite3_stmt *stmt;
    *id = -1;
    *stored = (tt__gpu){0};
    tt_status status = tt__db_stmt(s, &stmt, TT__SQL_GPU_FIND, "ttiii", gpu->name, gpu->mig, (int64_t)gpu->cc,
                                   (int64_t)gpu->sm_count, gpu->memory_bytes);
    if (tt__db_next(s, stmt, &status)) {
        *id = sqlite3_column_int64(stmt, 0);
        tt__fields_read(stmt, 1, tt__gpu_fields, TT__GPU_FIELDS, stored);
    }
    tt__db_done(stmt);
    return status;
}

static tt_status gpu_add(tt__store *s, const tt__gpu *gpu, int64_t *id) {
    bool own;
    tt__gpu stored;
    TT_TRY(tt__db_begin(s, &own));
    tt_status status = gpu_find(s, gpu, &stored, id); /* again, because another process may have added it */
    if (status == TT_OK && *id < 0) {
        status = tt__db_exec(s, TT__SQL_GPU_ADD, "ttiiiiiid", gpu->name, gpu->mig, (int64_t)gpu->cc,
                             (int64_t)gpu->sm_count, gpu->memory_bytes, gpu->l2_bytes,
                             (int64_t)gpu->max_threads_per_block, gpu->shared_per_block, gpu->peak_gbps);
        if (status == TT_OK)
            *id = sqlite3_last_insert_rowid(s->db);
    }
    return tt__db_end(s, own, status);
}

tt_status tt__store_known_gpu(tt__store *s, const tt__gpu *gpu, int64_t *id) {
    tt__gpu stored;
    return gpu_find(s, gpu, &stored, id);
}

tt_status tt__store_gpu(tt__store *s, const tt__gpu *gpu, int64_t *id) {
    tt__gpu stored;
    TT_TRY(gpu_find(s, gpu, &stored, id));
    if (s->mode == TT__STORE_READ_ONLY)
        return TT_OK;
    if (*id < 0)
        return gpu_add(s, gpu, id);
    double peak = gpu->peak_gbps > 0 ? gpu->peak_gbps : stored.peak_gbps; /* 0 means unknown */
    if (stored.l2_bytes == gpu->l2_bytes && stored.max_threads_per_block == gpu->max_threads_per_block &&
        stored.shared_per_block == gpu->shared_per_block && stored.peak_gbps >= peak &&
        stored.peak_gbps <= peak)
        return TT_OK;
    return tt__db_exec(s, TT__SQL_GPU_UPDATE, "iiiid", *id, gpu->l2_bytes,
                       (int64_t)gpu->max_threads_per_block, gpu->shared_per_block, peak);
}

tt_status tt__store_gpus(tt__store *s, tt__gpu_fn fn, void *user) {
    sqlite3_stmt *stmt;
    tt_status status = tt__db_stmt(s, &stmt, TT__SQL_GPU_LIST, "");
    while (tt__db_next(s, stmt, &status)) {
        tt__gpu gpu = {0};
        tt__fields_read(stmt, 1, tt__gpu_fields, TT__GPU_FIELDS, &gpu);
        status = fn(user, sqlite3_column_int64(stmt, 0), &gpu);
    }
    return status;
}

/* State of the search over all GPUs. */
typedef struct search {
    tt__gpu best;
    int64_t id;
    tt__gpu_match match; /* of the best */
    bool ambiguous;      /* several names contain the part */
    tt__str names;       /* ", A, B," */
} search;

/* Of two GPUs with one name, did this one run later than the best? Runs are read only then, so that a store
 * with damaged runs still finds its GPUs. */
static tt_status ran_later(tt__store *s, const search *f, int64_t id, bool *yes) {
    int64_t age, best;
    TT_TRY(tt__db_int(s, &age, 0, TT__SQL_GPU_AGE, "i", id));
    TT_TRY(tt__db_int(s, &best, 0, TT__SQL_GPU_AGE, "i", f->id));
    *yes = age > best;
    return TT_OK;
}

static tt_status consider(tt__store *s, search *f, const char *wanted, const tt__gpu *gpu, int64_t id) {
    char text[TT__GPU_TEXT_MAX], best_text[TT__GPU_TEXT_MAX], listed[TT__GPU_TEXT_MAX + 4];
    tt__gpu parts, best; /* earlier versions stored the text of an imported GPU as its name */
    tt__gpu_set_text(&parts, tt__gpu_text(text, gpu));
    tt__gpu_set_text(&best, tt__gpu_text(best_text, &f->best));
    snprintf(listed, sizeof listed, ", %s,", text);
    if (!strstr(tt__str_text(&f->names), listed))
        tt__str_add(&f->names, listed + (f->names.len > 0));
    tt__gpu_match match = tt__gpu_matches(gpu, wanted);
    bool better = match > f->match;
    if (better)
        f->ambiguous = false;
    else if (match == TT__GPU_OTHER || match < f->match)
        return TT_OK;
    else if (tt__same_letters(best.name, parts.name))
        TT_TRY(ran_later(s, f, id, &better));
    else
        f->ambiguous = true;
    if (better) {
        f->best = *gpu;
        f->id = id;
        f->match = match;
    }
    return TT_OK;
}

tt_status tt__store_find_gpu(tt__store *s, const char *name, tt__gpu *gpu, int64_t *id) {
    search f = {.match = TT__GPU_OTHER};
    sqlite3_stmt *stmt;
    *id = -1;
    *gpu = (tt__gpu){0};
    tt_status status = tt__db_stmt(s, &stmt, TT__SQL_GPU_LIST, "");
    while (tt__db_next(s, stmt, &status)) {
        tt__gpu found = {0};
        tt__fields_read(stmt, 1, tt__gpu_fields, TT__GPU_FIELDS, &found);
        status = consider(s, &f, name, &found, sqlite3_column_int64(stmt, 0));
    }
    if (status == TT_OK)
        status = tt__str_check(&f.names);
    if (status != TT_OK) {
        /* keep the failure */
    } else if (f.match != TT__GPU_OTHER && !f.ambiguous) {
        *gpu = f.best;
        *id = f.id;
    } else if (!f.names.len) {
        status = tt__fail(TT_E_INVALID, "GPU \"%s\": the store%s%s knows no GPU yet: tune on one first", name,
                          strcmp(s->path, ":memory:") == 0 ? "" : " ",
                          strcmp(s->path, ":memory:") == 0 ? "" : s->path);
    } else {
        if (f.ambiguous)
            *gpu = f.best;
        status = tt__fail(TT_E_INVALID, "GPU \"%s\": %s in %s; it has: %.*s", name,
                          f.ambiguous ? "several GPUs match" : "no such GPU", s->path, (int)f.names.len - 3,
                          f.names.text + 2);
    }
    tt__str_free(&f.names);
    return status;
}

/* ---- Problems, out of the store ------------------------------------------------------------------------ */

static const char *type_name(int sqlite_type) {
    static const char *const names[] = {[SQLITE_INTEGER] = "an integer",
                                        [SQLITE_FLOAT] = "a fraction",
                                        [SQLITE_TEXT] = "a text",
                                        [SQLITE_BLOB] = "a BLOB",
                                        [SQLITE_NULL] = "missing"};
    return names[sqlite_type];
}

/* Reads a text that fits and has no NUL. */
static tt_status read_text(sqlite3_stmt *stmt, int at, const char *what, char *out, size_t size) {
    int type = sqlite3_column_type(stmt, at);
    if (type != SQLITE_TEXT)
        return tt__fail(TT_E_INVALID, "%s is %s: expected a text", what, type_name(type));
    const char *text = tt__db_text(stmt, at);
    size_t n = (size_t)sqlite3_column_bytes(stmt, at);
    if (!text)
        return tt__fail_memory(0);
    if (n >= size || strlen(text) != n)
        return tt__fail(TT_E_INVALID, "%s has %zu bytes: expected less than %zu, and no NUL", what, n, size);
    memcpy(out, text, n + 1);
    return TT_OK;
}

static tt_status read_flag(sqlite3_stmt *stmt, int at, const char *what, bool *out) {
    int64_t value = sqlite3_column_int64(stmt, at);
    if (sqlite3_column_type(stmt, at) != SQLITE_INTEGER || value < 0 || value > 1)
        return tt__fail(TT_E_INVALID, "%s is %lld: expected 0 or 1", what, (long long)value);
    *out = value == 1;
    return TT_OK;
}

static tt_status read_setting(sqlite3_stmt *row, tt__setting *out) {
    TT_TRY(read_text(row, 0, "the name of a variable", out->name, sizeof out->name));
    int type = sqlite3_column_type(row, 1);
    if (type == SQLITE_INTEGER) {
        out->number = sqlite3_column_int64(row, 1);
        return TT_OK;
    }
    const char *text = type == SQLITE_TEXT ? tt__db_text(row, 1) : NULL;
    out->type = text ? tt__type_named(text, (size_t)sqlite3_column_bytes(row, 1)) : TT__TYPE_NONE;
    if (out->type == TT__TYPE_NONE)
        return tt__fail(TT_E_INVALID, "%s is %s%s%.40s: expected an integer or an element type", out->name,
                        type_name(type), text ? ", " : "", text ? text : "");
    return TT_OK;
}

static tt_status read_settings(tt__store *s, int64_t id, tt__problem *p) {
    sqlite3_stmt *stmt;
    tt_status status = tt__db_stmt(s, &stmt, TT__SQL_VALUES, "i", id);
    while (tt__db_next(s, stmt, &status)) {
        if (p->n == TT__VARIABLES_MAX)
            status = tt__fail(TT_E_INVALID, "more than %d variables", TT__VARIABLES_MAX);
        else
            status = read_setting(stmt, &p->settings[p->n++]);
    }
    return status;
}

tt_status tt__checked_problem(tt__store *s, sqlite3_stmt *stmt, int at, tt__problem *out) {
    *out = (tt__problem){0};
    TT_TRY(read_text(stmt, at, "operation", out->op, sizeof out->op));
    TT_TRY(read_text(stmt, at + 1, "the hash of its text", out->text, sizeof out->text));
    TT_TRY(read_flag(stmt, at + 2, "warm", &out->warm));
    TT_TRY(read_flag(stmt, at + 3, "unverified", &out->unverified));
    TT_TRY(read_flag(stmt, at + 6, "in_graph", &out->in_graph));
    out->moved_bytes = sqlite3_column_double(stmt, at + 5);
    TT_TRY(read_settings(s, sqlite3_column_int64(stmt, at + 4), out));
    return tt__check_problem(out);
}

tt_status tt__db_problem_read(tt__store *s, sqlite3_stmt *stmt, int at, tt__problem *out) {
    char doing[40];
    tt_status status = tt__checked_problem(s, stmt, at, out);
    if (status != TT_E_INVALID)
        return status;
    snprintf(doing, sizeof doing, "read problem %lld", (long long)sqlite3_column_int64(stmt, at + 4));
    return tt__db_fail_damaged(s, doing, tt_last_error());
}

/* ---- Problems, found or added ------------------------------------------------------------------------- */

/* *moved is the number of bytes in the store. */
static tt_status problem_find(tt__store *s, const tt__problem *p, const char *key, int64_t *id,
                              double *moved) {
    sqlite3_stmt *stmt;
    bool row;
    *id = -1;
    TT_TRY(tt__db_stmt(s, &stmt, TT__SQL_PROBLEM_FIND, "tttiii", p->op, p->text, key, (int64_t)p->warm,
                       (int64_t)p->unverified, (int64_t)p->in_graph));
    tt_status status = tt__db_step(s, stmt, &row);
    if (status == TT_OK && row)
        *id = sqlite3_column_int64(stmt, 0);
    *moved = *id >= 0 ? sqlite3_column_double(stmt, 1) : 0;
    tt__db_done(stmt);
    return status;
}

static tt_status add_settings(tt__store *s, int64_t id, const tt__problem *p) {
    enum { ROWS = 10 };
    for (int first = 0; first < p->n; first += ROWS) {
        sqlite3_stmt *stmt;
        bool none;
        TT_TRY(tt__db_stmt(s, &stmt, TT__SQL_VALUES_ADD, "ii", id, (int64_t)first));
        for (int i = 0; i < ROWS && first + i < p->n; i++) {
            const tt__setting *v = &p->settings[first + i];
            sqlite3_bind_text(stmt, 3 + 2 * i, v->name, -1, SQLITE_STATIC);
            if (v->type == TT__TYPE_NONE)
                sqlite3_bind_int64(stmt, 4 + 2 * i, v->number);
            else
                sqlite3_bind_text(stmt, 4 + 2 * i, tt__types[v->type].name, -1, SQLITE_STATIC);
        }
        tt_status status = tt__db_step(s, stmt, &none);
        tt__db_done(stmt);
        TT_TRY(status);
    }
    return TT_OK;
}

/* Adds nothing if its operation is not there. */
static tt_status add_row(tt__store *s, const tt__problem *p, const char *key) {
    int64_t numbers[2] = {0};
    for (int i = 0, n = 0; i < p->n && n < 2; i++)
        if (p->settings[i].type == TT__TYPE_NONE)
            numbers[n++] = p->settings[i].number;
    return tt__db_exec(s, TT__SQL_PROBLEM_ADD, "tttiidiii", p->op, p->text, key, (int64_t)p->warm,
                       (int64_t)p->unverified, p->moved_bytes, numbers[0], numbers[1], (int64_t)p->in_graph);
}

/* `again`: looks again, because another process may have added it before this transaction began. */
static tt_status problem_add(tt__store *s, const tt__problem *p, const char *key, bool again, int64_t *id) {
    double moved;
    if (again)
        TT_TRY(problem_find(s, p, key, id, &moved));
    if (*id >= 0)
        return TT_OK;
    TT_TRY(add_row(s, p, key));
    if (sqlite3_changes(s->db) == 0) {
        TT_TRY(tt__db_exec(s, TT__SQL_OPERATION_ADD, "tt", p->op, p->text));
        TT_TRY(add_row(s, p, key));
    }
    *id = sqlite3_last_insert_rowid(s->db);
    return add_settings(s, *id, p);
}

static tt_status problem_id(tt__store *s, const tt__problem *p, bool may_add, int64_t *id) {
    tt__str key = {0};
    bool own;
    double moved = 0;
    *id = -1;
    tt__problem_add_settings(&key, p, ",");
    tt_status status = tt__str_check(&key);
    if (status == TT_OK)
        status = problem_find(s, p, tt__str_text(&key), id, &moved);
    if (status == TT_OK && *id < 0 && may_add) {
        status = tt__check_problem(p); /* a problem that could not be read back must not be written */
        if (status == TT_OK && (status = tt__db_begin(s, &own)) == TT_OK)
            status = tt__db_end(s, own, problem_add(s, p, tt__str_text(&key), own, id));
    } else if (status == TT_OK && may_add && p->moved_bytes > 0 && !(moved > 0)) {
        status = tt__db_exec(s, TT__SQL_PROBLEM_MOVES, "id", *id, p->moved_bytes); /* it was unknown before */
    }
    tt__str_free(&key);
    return status;
}

tt_status tt__store_problem(tt__store *s, const tt__problem *p, int64_t *id) {
    return problem_id(s, p, s->mode != TT__STORE_READ_ONLY, id);
}

tt_status tt__store_known_problem(tt__store *s, const tt__problem *p, int64_t *id) {
    return problem_id(s, p, false, id);
}

/* The key has all values in one text, which takes no statement of its own for each problem. */
tt_status tt__store_problems(tt__store *s, tt__stored_problem_fn fn, void *user) {
    sqlite3_stmt *stmt;
    tt__problem p = {0};
    tt_status status = tt__db_stmt(s, &stmt, TT__SQL_PROBLEMS, "");
    while (tt__db_next(s, stmt, &status)) {
        const char *key = tt__db_text(stmt, TT__PROBLEM_COL_COUNT);
        bool good = key && read_text(stmt, 0, "operation", p.op, sizeof p.op) == TT_OK &&
                    read_text(stmt, 1, "the hash of its text", p.text, sizeof p.text) == TT_OK &&
                    read_flag(stmt, 2, "warm", &p.warm) == TT_OK &&
                    read_flag(stmt, 3, "unverified", &p.unverified) == TT_OK &&
                    read_flag(stmt, 6, "in_graph", &p.in_graph) == TT_OK &&
                    tt__problem_take_settings(&p, key);
        p.moved_bytes = sqlite3_column_double(stmt, 5);
        if (good && p.moved_bytes >= 0 && p.moved_bytes <= 0x1p60)
            status = fn(user, sqlite3_column_int64(stmt, 4), &p);
    }
    return status;
}

/* ---- Configurations -------------------------------------------------------------------------- */

static tt_status config_find(tt__store *s, const char *kernel, const char *op, const char *hash,
                             const char *config, int64_t *id) {
    return tt__db_int(s, id, -1, TT__SQL_CONFIG_FIND, "tttt", kernel, op, hash, config);
}

tt_status tt__store_config(tt__store *s, const char *kernel, const char *op, const char *hash,
                           const char *config, int64_t *id) {
    bool own;
    TT_TRY(config_find(s, kernel, op, hash, config, id));
    if (*id >= 0 || s->mode == TT__STORE_READ_ONLY)
        return TT_OK;
    TT_TRY(tt__db_begin(s, &own));
    tt_status status = tt__db_exec(s, TT__SQL_TEMPLATE_ADD, "ttt", kernel, op, hash);
    if (status == TT_OK)
        status = tt__db_exec(s, TT__SQL_CONFIG_ADD, "tttt", kernel, op, hash, config);
    if (status == TT_OK)
        status = config_find(s, kernel, op, hash, config, id);
    return tt__db_end(s, own, status);
}

/* ---- Texts ----------------------------------------------------------------------------------- */

tt_status tt__store_rename_text(tt__store *s, const char *before, const char *now, bool *changed) {
    static const tt__sql renames[] = {TT__SQL_TEMPLATE_RENAME, TT__SQL_OPERATION_RENAME, TT__SQL_LINK_RENAME};
    int64_t has = 0;
    bool own;
    *changed = false;
    if (s->mode == TT__STORE_READ_ONLY || strcmp(before, now) == 0)
        return TT_OK;
    TT_TRY(tt__db_int(s, &has, 0, TT__SQL_TEXT_HAS, "t", before));
    if (!has)
        return TT_OK;
    TT_TRY(tt__db_begin(s, &own));
    tt_status status = TT_OK;
    for (size_t i = 0; i < TT__COUNT(renames) && status == TT_OK; i++)
        status = tt__db_exec(s, renames[i], "tt", before, now);
    *changed = status == TT_OK;
    return tt__db_end(s, own, status);
}
