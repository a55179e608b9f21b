/*
 * Deletes rows in one transaction. A dry run does the same, counts, and rolls back.
 */
#include "db/upkeep/prune.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/grow.h"
#include "db/conn.h"
#include "db/field.h"

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
        {TT__SQL_SWEEP_ENERGIES, 0},
        {TT__SQL_SWEEP_RUNS, offsetof(tt__pruned, runs)},
        {TT__SQL_SWEEP_PEAKS, 0},
        {TT__SQL_SWEEP_CONFIGS, 0},
        {TT__SQL_SWEEP_TEMPLATES, 0},
        {TT__SQL_SWEEP_PROBLEMS, 0},
        {TT__SQL_SWEEP_VALUES, 0},
        {TT__SQL_SWEEP_OPERATIONS, 0},
        {TT__SQL_SWEEP_ENVS, 0},
        {TT__SQL_SWEEP_RULES, 0},
        {TT__SQL_SWEEP_GPUS, 0},
        {TT__SQL_SWEEP_CUBINS, offsetof(tt__pruned, cubins)},
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
