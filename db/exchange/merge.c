/*
 * Copies one store into another, row by row through the checks. It uses two connections, because an attached
 * database could bring views and triggers. Ids differ between stores and are translated.
 */
#include "db/exchange/merge.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/str.h"
#include "db/conn.h"
#include "db/field.h"

/* Ids in `from`, ascending, and the same objects' ids in `to`. */
typedef struct id_map {
    size_t n;
    struct id_pair {
        int64_t from, to;
    } * pairs;
} id_map;

typedef struct merge {
    tt__store *to, *from;
    const tt__merge_opts *opts;
    tt__merged *report;
    id_map runs, problems, configs;
} merge;

static tt_status map_add(id_map *m, int64_t from, int64_t to) {
    TT_TRY(TT__GROW(m->pairs, m->n));
    m->pairs[m->n++] = (struct id_pair){from, to};
    return TT_OK;
}

static int by_from(const void *a, const void *b) {
    int64_t x = ((const struct id_pair *)a)->from, y = ((const struct id_pair *)b)->from;
    return (x > y) - (x < y);
}

/* For the id in a column; negative: it is not copied. */
static int64_t map_get(const id_map *m, sqlite3_stmt *row, int at) {
    struct id_pair key = {sqlite3_column_int64(row, at), 0};
    const struct id_pair *found = m->n ? bsearch(&key, m->pairs, m->n, sizeof key, by_from) : NULL;
    return found ? found->to : -1;
}

/* Calls `take` for each row of a query on `from`, whose table `what` names in messages. */
static tt_status each(merge *m, tt__sql sql, const char *what,
                      tt_status (*take)(merge *m, sqlite3_stmt *row)) {
    sqlite3_stmt *stmt;
    const bool locked = sql >= TT__SQL_LOCK_RUNS && sql <= TT__SQL_LOCK_LINKS;
    const bool takes_gpu = sql == TT__SQL_MERGE_RUNS || sql == TT__SQL_MERGE_WINNERS ||
                           sql == TT__SQL_MERGE_PEAKS || sql == TT__SQL_MERGE_RULES ||
                           sql == TT__SQL_MERGE_ENERGIES;
    tt_status status = tt__db_stmt(m->from, &stmt, sql,
                                   locked      ? "it"
                                   : takes_gpu ? "i"
                                               : "",
                                   m->opts->gpu_id, m->opts->problem_ids);
    for (int64_t n = 1; tt__db_next(m->from, stmt, &status); n++) {
        status = take(m, stmt);
        if (status == TT_E_INVALID)
            tt__fail_prefix(status, "%s: %s %lld", tt__store_path(m->from), what, (long long)n);
    }
    return status;
}

/* ---- What trials refer to ---------------------------------------------------------------------- */

static tt_status find_run(merge *m, int64_t gpu_id, const tt__env *env, int64_t source, int64_t started_ms,
                          const tt__origin *origin, int64_t *id) {
    int64_t env_id;
    TT_TRY(tt__env_id(m->to, env, &env_id));
    return tt__db_int(m->to, id, -1, TT__SQL_RUN_FIND, "iiiitt", gpu_id, env_id, source, started_ms,
                      origin->who, origin->file);
}

static tt_status take_run(merge *m, sqlite3_stmt *row) {
    tt__gpu gpu;
    tt__env env;
    tt__origin origin;
    int64_t gpu_id, id, source = sqlite3_column_int64(row, 1), started_ms = sqlite3_column_int64(row, 2);
    if (source < 0 || source > 2 || started_ms < 0 || started_ms > TT__UNIX_MS_MAX)
        return tt__fail(TT_E_INVALID,
                        "source is %lld and started_ms %lld: expected 0 to 2, and a time before 2100",
                        (long long)source, (long long)started_ms);
    if (source == 0 && !m->opts->trusted)
        source = 2;
    TT_TRY(tt__checked_gpu(row, 4, &gpu));
    TT_TRY(tt__checked_env(row, 4 + TT__GPU_FIELDS, &env));
    TT_TRY(tt__store_known_gpu(m->to, &gpu, &gpu_id)); /* foreign data must not change a known GPU */
    if (gpu_id < 0)
        TT_TRY(tt__store_gpu(m->to, &gpu, &gpu_id));
    tt__origin_read(&origin, row, 4 + TT__GPU_FIELDS + TT__ENV_FIELDS);
    TT_TRY(find_run(m, gpu_id, &env, source, started_ms, &origin, &id));
    if (id < 0) {
        TT_TRY(tt__run_add(m->to, gpu_id, &env, tt__run_source_name((int)source), started_ms, &origin, &id));
        m->report->runs++;
    }
    if (sqlite3_column_type(row, 3) == SQLITE_INTEGER)
        TT_TRY(tt__db_exec(m->to, TT__SQL_MERGE_RUN_END, "ii", id, sqlite3_column_int64(row, 3)));
    return map_add(&m->runs, sqlite3_column_int64(row, 0), id);
}

static tt_status take_problem(merge *m, sqlite3_stmt *row) {
    tt__problem p;
    int64_t id;
    TT_TRY(tt__checked_problem(m->from, row, 1, &p));
    TT_TRY(tt__store_problem(m->to, &p, &id));
    return map_add(&m->problems, sqlite3_column_int64(row, 0), id);
}

static tt_status take_config(merge *m, sqlite3_stmt *row) {
    tt__checked_text c;
    int64_t id;
    TT_TRY(tt__checked_config(row, 1, &c));
    TT_TRY(tt__store_config(m->to, c.kernel, c.op, c.hash, c.config, &id));
    return map_add(&m->configs, sqlite3_column_int64(row, 0), id);
}

/* ---- Trials and winners ------------------------------------------------------------------------ */

typedef struct trials {
    merge *m;
    sqlite3_stmt *row;
    int64_t n, rest[5]; /* rest: problem, stage, configuration, run, time */
    tt__trial trial;
} trials;

static tt_status check_trial(trials *t) {
    enum { PROBLEM = TT__TRIAL_COL_COUNT, STAGE, CONFIG, RUN, AT_MS };
    merge *m = t->m;
    const int64_t rest[] = {map_get(&m->problems, t->row, PROBLEM), sqlite3_column_int64(t->row, STAGE),
                            map_get(&m->configs, t->row, CONFIG), map_get(&m->runs, t->row, RUN),
                            sqlite3_column_int64(t->row, AT_MS)};
    memcpy(t->rest, rest, sizeof rest);
    if (rest[3] < 0 && m->opts->gpu_id)
        return TT_OK; /* belongs to another GPU */
    TT_TRY(tt__trial_read(m->from, t->row, &t->trial));
    TT_TRY(tt__trial_check(&t->trial));
    return rest[0] >= 0 && rest[2] >= 0 && rest[3] >= 0 && (rest[1] == 0 || rest[1] == 1)
               ? TT_OK
               : tt__fail(TT_E_INVALID, "refers to a problem, configuration or run that is not there");
}

static tt_status next_trial(void *user, bool *more) {
    trials *t = user;
    tt_status status = TT_OK;
    do {
        *more = tt__db_next(t->m->from, t->row, &status);
        t->n += *more;
        if (*more && (status = check_trial(t)) == TT_E_INVALID)
            tt__fail_prefix(status, "%s: trial %lld", tt__store_path(t->m->from), (long long)t->n);
    } while (status == TT_OK && *more && t->rest[3] < 0);
    return status;
}

static void put_trial(void *user, sqlite3_context *out, int at) {
    enum { REASON = 5 };
    const trials *t = user;
    if (at >= TT__TRIAL_COL_COUNT)
        sqlite3_result_int64(out, t->rest[at - TT__TRIAL_COL_COUNT]);
    else if (at == REASON && *t->trial.reason) /* reading cleaned it */
        sqlite3_result_text(out, t->trial.reason, -1, SQLITE_STATIC);
    else
        sqlite3_result_value(out, sqlite3_column_value(t->row, at));
}

static tt_status take_trials(merge *m) {
    trials t = {.m = m};
    tt__pull pull = {.next = next_trial, .column = put_trial, .user = &t};
    TT_TRY(m->opts->locked ? tt__db_stmt(m->from, &t.row, TT__SQL_LOCK_TRIALS, "it", m->opts->gpu_id,
                                         m->opts->problem_ids)
                           : tt__db_stmt(m->from, &t.row, TT__SQL_MERGE_TRIALS, ""));
    tt_status status = tt__db_pull(m->to, TT__SQL_MERGE_TRIAL_PUT, &pull, "");
    if (status == TT_OK)
        m->report->trials += sqlite3_changes(m->to->db);
    tt__db_done(t.row);
    return status;
}

static int compare(double a, double b) {
    return (a > b) - (a < b);
}

/* Is the new winner better evidence? See merge.h. The order is total, so that files may come in any order. */
static bool better(const tt__winner *now, const tt__winner *then) {
    static const char *const sources[] = {"replayed", "imported", "measured"}; /* ascending */
    int rank[2] = {0, 0};
    for (int i = 0; i < 3; i++) {
        rank[0] = strcmp(now->source, sources[i]) == 0 ? i : rank[0];
        rank[1] = strcmp(then->source, sources[i]) == 0 ? i : rank[1];
    }
    const int orders[] = {
        rank[0] - rank[1],
        compare(tt__strtod(now->env.library, NULL), tt__strtod(then->env.library, NULL)),
        strverscmp(now->env.driver, then->env.driver),
        strverscmp(now->env.nvrtc, then->env.nvrtc),
        compare((double)now->trials, (double)then->trials),
        compare((double)now->unix_ms, (double)then->unix_ms),
        compare(then->time_us, now->time_us),
    };
    for (size_t i = 0; i < TT__COUNT(orders); i++)
        if (orders[i])
            return orders[i] > 0;
    return false;
}

/* What `to` has by now says of the winner. */
static tt_status take_winner(merge *m, sqlite3_stmt *row) {
    enum { GPU, SOURCE, OP_FITS, ENV };
    tt__winner w, old;
    sqlite3_stmt *stmt;
    bool found, fits;
    int64_t gpu_id, problem = map_get(&m->problems, row, 0), run = map_get(&m->runs, row, 1);
    int64_t config = map_get(&m->configs, row, 2);
    if (problem < 0 || run < 0 || config < 0)
        return tt__fail(TT_E_INVALID, "refers to a problem, configuration or run that is not there");
    TT_TRY(tt__checked_winner(row, 3, &w));
    TT_TRY(tt__db_stmt(m->to, &stmt, TT__SQL_MERGE_WINNER_OF, "iii", run, problem, config));
    TT_TRY(tt__db_step(m->to, stmt, &found));
    gpu_id = sqlite3_column_int64(stmt, GPU);
    tt__copy(w.source, sizeof w.source, tt__run_source_name(sqlite3_column_int(stmt, SOURCE)));
    fits = sqlite3_column_int(stmt, OP_FITS);
    tt__fields_read(stmt, ENV, tt__env_fields, TT__ENV_FIELDS, &w.env);
    tt__db_done(stmt);
    if (!fits)
        return tt__fail(TT_E_INVALID, "its template is not one for its problem");
    TT_TRY(tt__store_winner_get(m->to, gpu_id, problem, &old, &found));
    if (found && !better(&w, &old)) {
        m->report->kept++;
        return TT_OK;
    }
    m->report->winners++;
    return tt__store_winner_put(m->to, run, problem, config, &w);
}

/* ---- Peaks and energies, where `to` has none --------------------------------------------------- */

static tt_status take_peaks(merge *m, sqlite3_stmt *row) {
    tt__gpu gpu;
    tt__peaks peaks, old;
    int64_t gpu_id;
    TT_TRY(tt__checked_gpu(row, 0, &gpu));
    TT_TRY(tt__checked_peaks(row, TT__GPU_FIELDS, &peaks));
    TT_TRY(tt__store_known_gpu(m->to, &gpu, &gpu_id));
    if (gpu_id < 0)
        return TT_OK;
    TT_TRY(tt__store_peaks_get(m->to, gpu_id, &old));
    TT_TRY(tt__store_peaks_put(m->to, gpu_id, &peaks));
    return tt__store_peaks_put(m->to, gpu_id, &old); /* a known one stays */
}

/* The newer one stays. */
static tt_status take_rule(merge *m, sqlite3_stmt *row) {
    tt__gpu gpu;
    tt__tuning_rule *rule;
    int64_t gpu_id, unix_ms = sqlite3_column_int64(row, TT__GPU_FIELDS + 1);
    const char *text = tt__db_text(row, TT__GPU_FIELDS);
    TT_TRY(tt__checked_gpu(row, 0, &gpu));
    TT_TRY(tt__rule_read(&rule, text ? text : ""));
    tt_status status =
        unix_ms >= 0 && unix_ms <= TT__UNIX_MS_MAX
            ? tt__store_known_gpu(m->to, &gpu, &gpu_id)
            : tt__fail(TT_E_INVALID, "unix_ms is %lld: expected a time before 2100", (long long)unix_ms);
    if (status == TT_OK && gpu_id >= 0)
        status = tt__store_rule_put(m->to, gpu_id, rule, unix_ms);
    if (status == TT_OK)
        m->report->rules++;
    tt__rule_free(&rule);
    return status;
}

static tt_status take_flop(merge *m, sqlite3_stmt *row) {
    double old, flop = sqlite3_column_double(row, 1);
    int64_t problem = map_get(&m->problems, row, 0);
    if (problem < 0 || !(flop > 0 && flop < 1e30))
        return TT_OK;
    TT_TRY(tt__store_flop_get(m->to, problem, &old));
    return old > 0 ? TT_OK : tt__store_flop_put(m->to, problem, flop);
}

static tt_status take_energy(merge *m, sqlite3_stmt *row) {
    enum { AT = TT__GPU_FIELDS, PROBLEM = AT + TT__ENERGY_FIELDS, CONFIG, UNIX_MS };
    tt__gpu gpu;
    tt__energy e;
    int64_t gpu_id, problem = map_get(&m->problems, row, PROBLEM), config = map_get(&m->configs, row, CONFIG);
    TT_TRY(tt__checked_gpu(row, 0, &gpu));
    TT_TRY(tt__checked_energy(row, AT, &e));
    TT_TRY(tt__store_known_gpu(m->to, &gpu, &gpu_id));
    if (gpu_id < 0 || problem < 0 || config < 0)
        return TT_OK;
    return tt__db_exec(m->to, TT__SQL_MERGE_ENERGY_PUT, "iiidddddi", gpu_id, problem, config, e.time_us,
                       e.joules, e.noise, e.idle_watts, e.celsius, sqlite3_column_int64(row, UNIX_MS));
}

/* ---- Cubins ------------------------------------------------------------------------------------ */

static bool is_hash(const char *text) {
    return text && strlen(text) == TT__HASH_SIZE - 1 && strspn(text, "0123456789abcdef") == TT__HASH_SIZE - 1;
}

static tt_status take_cubin(merge *m, sqlite3_stmt *row) {
    char actual[TT__HASH_SIZE];
    const char *key = tt__db_text(row, 0), *hash = tt__db_text(row, 1);
    const void *image = sqlite3_column_blob(row, 2);
    size_t size = (size_t)sqlite3_column_bytes(row, 2);
    if (!is_hash(key) || !is_hash(hash) || !image)
        return tt__fail(TT_E_INVALID, "has no key, hash or image");
    tt__hash(actual, image, size);
    if (strcmp(actual, hash) != 0)
        return tt__fail(TT_E_INVALID, "does not match its hash %.16s...", hash);
    TT_TRY(tt__db_exec(m->to, TT__SQL_MERGE_CUBIN_PUT, "ttb", key, hash, image, size));
    m->report->cubins += sqlite3_changes(m->to->db);
    return TT_OK;
}

static tt_status take_link(merge *m, sqlite3_stmt *row) {
    const char *hash = tt__db_text(row, 0), *config = tt__db_text(row, 1), *key = tt__db_text(row, 4);
    if (!hash || !config || !is_hash(key))
        return tt__fail(TT_E_INVALID, "names no cubin");
    if (strlen(config) <
        TT__CONFIG_MAX) /* a longer text also names types; it is only looked up, never parsed */
        TT_TRY(tt__check_config(config));
    return tt__db_exec(m->to, TT__SQL_MERGE_LINK_PUT, "ttiit", hash, config, sqlite3_column_int64(row, 2),
                       sqlite3_column_int64(row, 3), key);
}

static tt_status merge_all(merge *m) {
    const bool locked = m->opts->locked;
    TT_TRY(each(m, locked ? TT__SQL_LOCK_RUNS : TT__SQL_MERGE_RUNS, "run", take_run));
    if (m->runs.n)
        qsort(m->runs.pairs, m->runs.n, sizeof *m->runs.pairs, by_from);
    TT_TRY(each(m, locked ? TT__SQL_LOCK_PROBLEMS : TT__SQL_MERGE_PROBLEMS, "problem", take_problem));
    TT_TRY(each(m, locked ? TT__SQL_LOCK_CONFIGS : TT__SQL_MERGE_CONFIGS, "configuration", take_config));
    TT_TRY(take_trials(m));
    TT_TRY(each(m, locked ? TT__SQL_LOCK_WINNERS : TT__SQL_MERGE_WINNERS, "winner", take_winner));
    TT_TRY(each(m, TT__SQL_MERGE_PEAKS, "peak", take_peaks));
    if (!m->opts->problem_ids)
        TT_TRY(each(m, TT__SQL_MERGE_RULES, "rule", take_rule));
    TT_TRY(each(m, TT__SQL_MERGE_FLOPS, "problem", take_flop));
    TT_TRY(each(m, locked ? TT__SQL_LOCK_ENERGIES : TT__SQL_MERGE_ENERGIES, "energy", take_energy));
    if (m->opts->trusted && !m->from->no_code) {
        TT_TRY(each(m, locked ? TT__SQL_LOCK_CUBINS : TT__SQL_MERGE_CUBINS, "cubin", take_cubin));
        TT_TRY(each(m, locked ? TT__SQL_LOCK_LINKS : TT__SQL_MERGE_LINKS, "cubin link", take_link));
    }
    return TT_OK;
}

tt_status tt__store_merge(tt__store *to, tt__store *from, const tt__merge_opts *opts, tt__merged *report) {
    merge m = {.to = to, .from = from, .opts = opts, .report = report};
    bool own = !from->grouped;
    if (!to->grouped)
        return tt__fail(TT_E_INTERNAL, "%s: a merge outside tt__store_begin", tt__store_path(to));
    if (own) /* one transaction: all queries see the same state */
        TT_TRY(tt__db_exec(from, TT__SQL_BEGIN_READING, ""));
    tt_status status = merge_all(&m);
    if (own) /* COMMIT fails on a damaged file */
        tt__db_script(from, "ROLLBACK");
    free(m.runs.pairs);
    free(m.problems.pairs);
    free(m.configs.pairs);
    return status;
}
