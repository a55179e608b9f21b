/*
 * Runs everything in a store through the checks for data from outside. Deletes rows in one transaction: a dry
 * run does the same, counts, and rolls back.
 */
#include "db/upkeep.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/str.h"
#include "db/conn.h"

/* ---- Checking --------------------------------------------------------------------------------- */

typedef struct checking {
    tt__store *store;
    tt__finding_fn fn;
    void *user;
    tt__checked *out;
} checking;

static void found(checking *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void found(checking *c, const char *fmt, ...) {
    char text[512];
    va_list args;
    va_start(args, fmt);
    tt__vformat(text, sizeof text, fmt, args);
    va_end(args);
    tt__clean(text, TT__CLEAN_TEXT);
    c->out->findings++;
    c->fn(c->user, text);
}

/* Checks every row of a query. A row that fails is a finding, and the loop continues. */
static tt_status each(checking *c, tt__sql sql, const char *what,
                      tt_status (*look)(checking *c, sqlite3_stmt *row)) {
    sqlite3_stmt *stmt;
    tt_status status = tt__db_stmt(c->store, &stmt, sql, "");
    for (int64_t n = 1; tt__db_next(c->store, stmt, &status); n++)
        if (look(c, stmt) != TT_OK)
            found(c, "%s %lld: %s", what, (long long)n, tt_last_error());
    return status;
}

static tt_status look_at_integrity(checking *c, sqlite3_stmt *row) {
    const char *text = tt__db_text(row, 0);
    if (!text || strcmp(text, "ok") != 0) /* the one row of a file without a fault */
        found(c, "SQLite: %.400s", text ? text : "?");
    return TT_OK;
}

static tt_status look_at_keys(checking *c, sqlite3_stmt *row) {
    const char *table = tt__db_text(row, 0), *parent = tt__db_text(row, 1);
    int64_t n = sqlite3_column_int64(row, 2);
    found(c, "%lld row%s of %s refer%s to a %s that is not there", (long long)n, n == 1 ? "" : "s",
          table ? table : "?", n == 1 ? "s" : "", parent ? parent : "?");
    return TT_OK;
}

static tt_status look_at_gpu(checking *c, sqlite3_stmt *row) {
    tt__gpu gpu;
    c->out->gpus++;
    return tt__checked_gpu(row, 1, &gpu);
}

static tt_status look_at_env(checking *c, sqlite3_stmt *row) {
    tt__env env;
    (void)c;
    return tt__checked_env(row, 1, &env);
}

static tt_status look_at_run(checking *c, sqlite3_stmt *row) {
    (void)c;
    return tt__fail(TT_E_INVALID, "started_ms is %lld: expected a time before 2100",
                    (long long)sqlite3_column_int64(row, 1));
}

static tt_status look_at_problem(checking *c, sqlite3_stmt *row) {
    tt__problem p;
    tt__str key = {0};
    const char *found = tt__db_text(row, 1 + TT__PROBLEM_COL_COUNT);
    TT_TRY(tt__checked_problem(c->store, row, 1, &p));
    tt__problem_add_settings(&key, &p, ",");
    tt_status status = tt__str_check(&key);
    if (status == TT_OK && (!found || strcmp(found, tt__str_text(&key)) != 0))
        status = tt__fail(TT_E_INVALID, "key is \"%.80s\": expected \"%.160s\"", found ? found : "",
                          tt__str_text(&key));
    tt__str_free(&key);
    return status;
}

static tt_status look_at_config(checking *c, sqlite3_stmt *row) {
    tt__checked_text text;
    (void)c;
    return tt__checked_config(row, 1, &text);
}

static tt_status look_at_trial(checking *c, sqlite3_stmt *row) {
    tt__trial trial;
    c->out->trials++;
    TT_TRY(tt__trial_read(c->store, row, &trial));
    return tt__trial_check(&trial);
}

static tt_status look_at_winner(checking *c, sqlite3_stmt *row) {
    tt__winner w;
    c->out->winners++;
    TT_TRY(tt__checked_winner(row, 1, &w));
    bool same_gpu = sqlite3_column_int(row, 1 + TT__WINNER_FIELDS) != 0;
    return same_gpu ? TT_OK : tt__fail(TT_E_INVALID, "its run was on another GPU");
}

static tt_status look_at_rule(checking *c, sqlite3_stmt *row) {
    const char *text = tt__db_text(row, 0);
    tt__tuning_rule *rule;
    (void)c;
    TT_TRY(tt__rule_read(&rule, text ? text : ""));
    tt__rule_free(&rule);
    return TT_OK;
}

static tt_status look_at_op(checking *c, sqlite3_stmt *row) {
    const char *is = tt__db_text(row, 1), *should = tt__db_text(row, 2);
    (void)c;
    if (is && should && strcmp(is, should) == 0)
        return tt__fail(TT_E_INVALID, "its template is another text of %.31s than its problem's", is);
    return tt__fail(TT_E_INVALID, "its template is a %.31s, the problem a %.31s", is ? is : "?",
                    should ? should : "?");
}

static tt_status look_at_cubin(checking *c, sqlite3_stmt *row) {
    char actual[TT__HASH_SIZE];
    const char *key = tt__db_text(row, 0), *hash = tt__db_text(row, 1);
    const void *image = sqlite3_column_blob(row, 2);
    c->out->cubins++;
    tt__hash(actual, image ? image : "", (size_t)sqlite3_column_bytes(row, 2));
    return hash && strcmp(actual, hash) == 0
               ? TT_OK
               : tt__fail(TT_E_INVALID, "%.16s... does not match its hash; it will be compiled anew",
                          key ? key : "?");
}

tt_status tt__store_check(tt__store *s, tt__finding_fn fn, void *user, tt__checked *out) {
    static const struct {
        tt__sql sql;
        const char *what;
        tt_status (*look)(checking *c, sqlite3_stmt *row);
    } steps[] = {
        {TT__SQL_CHECK_INTEGRITY, "", look_at_integrity},
        {TT__SQL_CHECK_KEYS, "", look_at_keys},
        {TT__SQL_GPU_LIST, "GPU", look_at_gpu},
        {TT__SQL_CHECK_ENVS, "environment", look_at_env},
        {TT__SQL_CHECK_RUNS, "run", look_at_run},
        {TT__SQL_MERGE_PROBLEMS, "problem", look_at_problem},
        {TT__SQL_MERGE_CONFIGS, "configuration", look_at_config},
        {TT__SQL_MERGE_TRIALS, "trial", look_at_trial},
        {TT__SQL_CHECK_WINNERS, "winner", look_at_winner},
        {TT__SQL_CHECK_OPS, "winner", look_at_op},
        {TT__SQL_CHECK_RULES, "rule", look_at_rule},
        {TT__SQL_MERGE_CUBINS, "cubin", look_at_cubin},
    };
    checking c = {.store = s, .fn = fn, .user = user, .out = out};
    bool own = !s->grouped;
    *out = (tt__checked){0};
    if (own)
        TT_TRY(tt__db_exec(s, TT__SQL_BEGIN_READING, ""));
    tt_status status = TT_OK;
    for (size_t i = 0; status == TT_OK && i < TT__COUNT(steps); i++)
        status = each(&c, steps[i].sql, steps[i].what, steps[i].look);
    return tt__db_end(s, own, status);
}

/* ---- Pruning ---------------------------------------------------------------------------------- */

enum { UNDER_WAY_MS = 24 * 3600 * 1000 }; /* an older run without an end was killed */

typedef struct id_list {
    size_t n;
    int64_t *ids;
} id_list;

static tt_status list_add(id_list *l, int64_t id) {
    TT_TRY(TT__GROW(l->ids, l->n));
    l->ids[l->n++] = id;
    return TT_OK;
}

/* Adds the changes of a statement that has run with this status. */
static tt_status count(tt__store *s, tt_status status, int64_t *changed) {
    *changed += status == TT_OK ? sqlite3_changes(s->db) : 0;
    return status;
}

/* Runs a statement with the ids, `per` at a time, and adds up the changes. */
static tt_status for_each(tt__store *s, tt__sql sql, const id_list *l, size_t per, int64_t *changed) {
    for (size_t i = 0; i < l->n; i += per)
        TT_TRY(count(s, tt__db_exec(s, sql, per == 2 ? "ii" : "i", l->ids[i], l->ids[i + per - 1]), changed));
    return TT_OK;
}

typedef struct pruning {
    tt__store *store;
    const tt__prune_opts *opts;
    tt__pruned *out;
    id_list list;
    int64_t busy; /* another run is under way */
} pruning;

/* Collects the ids of rows to delete, because a loop over a table cannot delete from it. */
static tt_status collect(pruning *p, tt__sql sql, tt_status (*consider)(pruning *p, sqlite3_stmt *row)) {
    sqlite3_stmt *stmt;
    p->list.n = 0;
    tt_status status = tt__db_stmt(p->store, &stmt, sql, "");
    while (tt__db_next(p->store, stmt, &status))
        status = consider(p, stmt);
    return status;
}

static tt_status consider_gpu(pruning *p, sqlite3_stmt *row) {
    tt__gpu gpu = {0};
    tt__fields_read(row, 1, tt__gpu_fields, TT__GPU_FIELDS, &gpu);
    return p->opts->gpu(p->opts->user, &gpu) ? list_add(&p->list, sqlite3_column_int64(row, 0)) : TT_OK;
}

static tt_status consider_text(pruning *p, sqlite3_stmt *row) {
    const char *kernel = tt__db_text(row, 1), *hash = tt__db_text(row, 2);
    if (!kernel || !hash)
        return tt__fail_memory(0);
    return p->opts->text(p->opts->user, kernel, hash) ? list_add(&p->list, sqlite3_column_int64(row, 0))
                                                      : TT_OK;
}

static tt_status consider_winner(pruning *p, sqlite3_stmt *row) {
    tt__winner w;
    bool found;
    int64_t gpu_id = sqlite3_column_int64(row, 0), problem_id = sqlite3_column_int64(row, 1);
    TT_TRY(tt__store_winner_get(p->store, gpu_id, problem_id, &w, &found));
    if (!found || !p->opts->winner(p->opts->user, &w))
        return TT_OK;
    TT_TRY(list_add(&p->list, gpu_id));
    return list_add(&p->list, problem_id);
}

static tt_status prune_winners(pruning *p) {
    TT_TRY(collect(p, TT__SQL_PRUNE_LIST_WINNERS, consider_winner));
    return for_each(p->store, TT__SQL_PRUNE_WINNER, &p->list, 2, &p->out->winners);
}

static tt_status prune_gpus(pruning *p) {
    TT_TRY(collect(p, TT__SQL_GPU_LIST, consider_gpu));
    TT_TRY(for_each(p->store, TT__SQL_PRUNE_WINNERS_OF_GPU, &p->list, 1, &p->out->winners));
    return for_each(p->store, TT__SQL_PRUNE_TRIALS_OF_GPU, &p->list, 1, &p->out->trials);
}

/* Trials of winners that stay are kept as their evidence. A current run's first trial may still name a text.
 */
static tt_status prune_texts(pruning *p) {
    int64_t links = 0;
    if (!p->busy)
        TT_TRY(tt__db_exec(p->store, TT__SQL_PRUNE_NAME_TEXTS, ""));
    TT_TRY(collect(p, TT__SQL_PRUNE_LIST_TEXTS, consider_text));
    TT_TRY(for_each(p->store, TT__SQL_PRUNE_TRIALS_OF_TEXT, &p->list, 1, &p->out->trials));
    TT_TRY(for_each(p->store, TT__SQL_PRUNE_LINKS_OF_TEXT, &p->list, 1, &links));
    return tt__db_exec(p->store, TT__SQL_PRUNE_UNNAME_TEXTS, "");
}

/* Names that a current run has just looked up must stay, because its next trial refers to them. */
static tt_status sweep(pruning *p) {
    static const struct {
        tt__sql sql;
        size_t counter; /* in tt__pruned; 0: not counted */
    } steps[] = {
        {TT__SQL_SWEEP_ENERGIES, 0},  {TT__SQL_SWEEP_RUNS, offsetof(tt__pruned, runs)},
        {TT__SQL_SWEEP_PEAKS, 0},     {TT__SQL_SWEEP_CONFIGS, 0},
        {TT__SQL_SWEEP_TEMPLATES, 0}, {TT__SQL_SWEEP_PROBLEMS, 0},
        {TT__SQL_SWEEP_VALUES, 0},    {TT__SQL_SWEEP_OPERATIONS, 0},
        {TT__SQL_SWEEP_ENVS, 0},      {TT__SQL_SWEEP_RULES, 0},
        {TT__SQL_SWEEP_GPUS, 0},      {TT__SQL_SWEEP_CUBINS, offsetof(tt__pruned, cubins)},
    };
    tt_status status = TT_OK;
    for (size_t i = 0; status == TT_OK && !p->busy && i < TT__COUNT(steps); i++) {
        status = tt__db_exec(p->store, steps[i].sql, "");
        if (status == TT_OK && steps[i].counter)
            *(int64_t *)((char *)p->out + steps[i].counter) += sqlite3_changes(p->store->db);
    }
    return status;
}

/* Without a problem or an operation the kernel's cubins serve nothing any more. */
static tt_status prune_part(pruning *p) {
    const tt__prune_part *part = p->opts->part;
    const char *op = part->op ? part->op : "", *kernel = part->kernel ? part->kernel : "";
    tt__store *s = p->store;
    TT_TRY(count(s, tt__db_exec(s, TT__SQL_PRUNE_WINNERS_OF, "itt", part->problem_id, op, kernel),
                 &p->out->winners));
    TT_TRY(count(s, tt__db_exec(s, TT__SQL_PRUNE_TRIALS_OF, "itt", part->problem_id, op, kernel),
                 &p->out->trials));
    return part->problem_id || *op ? TT_OK : tt__db_exec(s, TT__SQL_PRUNE_LINKS_OF, "t", kernel);
}

static tt_status prune_all(pruning *p) {
    const tt__prune_opts *o = p->opts;
    tt__store *s = p->store;
    if (!o->alone)
        TT_TRY(tt__db_int(s, &p->busy, 0, TT__SQL_UNDER_WAY, "i", tt__unix_ms() - UNDER_WAY_MS));
    if (o->gpu)
        TT_TRY(prune_gpus(p));
    if (o->winner)
        TT_TRY(prune_winners(p));
    if (o->part)
        TT_TRY(prune_part(p));
    if (o->before_ms) {
        TT_TRY(count(s, tt__db_exec(s, TT__SQL_PRUNE_WINNERS_BEFORE, "i", o->before_ms), &p->out->winners));
        TT_TRY(count(s, tt__db_exec(s, TT__SQL_PRUNE_TRIALS_BEFORE, "i", o->before_ms), &p->out->trials));
    }
    if (o->text)
        TT_TRY(prune_texts(p));
    if (o->library)
        TT_TRY(count(s, tt__db_exec(s, TT__SQL_PRUNE_TRIALS_OF_OTHERS, "t", o->library), &p->out->trials));
    return sweep(p);
}

tt_status tt__store_prune(tt__store *s, const tt__prune_opts *opts, tt__pruned *out) {
    pruning p = {.store = s, .opts = opts, .out = out};
    bool own;
    *out = (tt__pruned){0};
    /* With foreign keys, SQLite would search all trials for each deleted name. The statements keep references
     * valid. */
    tt__db_script(s, "PRAGMA foreign_keys = OFF");
    tt_status status = tt__db_begin(s, &own);
    if (status == TT_OK) {
        status = prune_all(&p);
        status = opts->dry_run && status == TT_OK ? tt__db_exec(s, TT__SQL_ROLLBACK, "")
                                                  : tt__db_end(s, own, status);
    }
    free(p.list.ids);
    tt__db_script(s, "PRAGMA foreign_keys = ON");
    return status;
}

tt_status tt__store_prune_names(tt__store *s, bool kernels, void (*fn)(void *user, const char *name),
                                void *user) {
    sqlite3_stmt *stmt;
    tt_status status = tt__db_stmt(s, &stmt, TT__SQL_PRUNE_NAMES, "i", (int64_t)kernels);
    while (tt__db_next(s, stmt, &status)) {
        const char *name = tt__db_text(stmt, 0);
        if (name)
            fn(user, name);
        else
            status = tt__fail_memory(0);
    }
    return status;
}

static tt_status file_bytes(tt__store *s, int64_t *bytes) {
    return tt__db_int(s, bytes, 0, TT__SQL_FILE_BYTES, "");
}

tt_status tt__store_vacuum(tt__store *s, int64_t *before, int64_t *after) {
    TT_TRY(file_bytes(s, before));
    sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, 1); /* for the copy that VACUUM makes */
    int rc = tt__db_script(s, "PRAGMA optimize; VACUUM");
    sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, 0);
    if (rc == SQLITE_OK)
        rc = tt__db_script(s, "PRAGMA wal_checkpoint(TRUNCATE)");
    if (rc != SQLITE_OK)
        return tt__db_fail(s, rc, "compact it");
    return file_bytes(s, after);
}
