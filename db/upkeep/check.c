/*
 * Runs everything in a store through the checks for data from outside.
 */
#include "db/upkeep/check.h"

#include <stdio.h>

#include "base/clean.h"
#include "base/number.h"
#include "db/field.h"

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
