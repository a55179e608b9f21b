/*
 * Evaluates expressions in SQLite. The table `tt_facts` has one row with the problem and the device. For one
 * configuration it is a row of bound values, because a table takes as long to create as all else. There are
 * four kinds of query:
 *
 * - One configuration: its parameters are facts too. Each `where` is a column, so that a message can name
 *   the one that fails.
 * - The whole space: each parameter is a table. The tables are cross-joined, and the wheres filter.
 * - All combinations: the same join, with the wheres as columns.
 * - One configuration after the other: the same join of the parameters in use, with their indices bound.
 *
 * The scanner (scan.c) is the first defence against hostile text, the authorizer and the limits here are the
 * second.
 */
#include "kernel/expression/expr.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "kernel/expression/functions.h"
#include "kernel/expression/scan.h"

enum {
    STEP_OPS = 1000,      /* instructions of SQLite's virtual machine between two checks of the budget */
    STEPS_MAX = 100000,   /* the budget: 1e8 instructions, one or two seconds */
    DEPTH_ALONE = 200,    /* depth of one expression's tree */
    DEPTH_TOGETHER = 300, /* depth of all wheres joined with AND */
};

struct tt__query {
    const tt__template *t;
    sqlite3 *db;
    sqlite3_stmt *stmt;
    int n_selects, most_selects; /* counted and allowed by the authorizer in this statement */
    int steps_left;
    tt__facts facts;           /* of the row */
    int first_where;           /* first column with a `where` */
    int first_value;           /* first column of `columns` */
    bool used[TT__PARAMS_MAX]; /* of TT__QUERY_AT */
};

/* ---- The sandbox -------------------------------------------------------------------------------------- */

static int authorize(void *query, int action, const char *a, const char *b, const char *db, const char *by) {
    tt__query *q = query;
    (void)db, (void)by;
    switch (action) {
    case SQLITE_SELECT:
        return q->n_selects++ < q->most_selects ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_READ:
        return a && strncmp(a, "tt_", 3) == 0 ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_FUNCTION:
        for (size_t i = 0; b && i < tt__n_functions; i++)
            if (strcmp(b, tt__functions[i].name) == 0)
                return SQLITE_OK;
        return SQLITE_DENY;
    default:
        return SQLITE_DENY;
    }
}

static int spend(void *query) {
    return --((tt__query *)query)->steps_left < 0;
}

static tt_status fail_sqlite(const tt__query *q, const char *doing) {
    int rc = sqlite3_errcode(q->db);
    if (rc == SQLITE_NOMEM)
        return tt__fail(TT_E_NO_MEMORY, "%s: out of memory while %s", q->t->path, doing);
    return tt__fail(TT_E_INTERNAL, "%s: SQLite failed while %s: %s", q->t->path, doing,
                    q->db ? sqlite3_errmsg(q->db) : sqlite3_errstr(rc));
}

static tt_status run(tt__query *q, const char *sql) {
    return sqlite3_exec(q->db, sql, NULL, NULL, NULL) == SQLITE_OK ? TT_OK
                                                                   : fail_sqlite(q, "making its tables");
}

static int bind_parameter(sqlite3_stmt *stmt, int at, const char *value) {
    const size_t n = strlen(value);
    return tt__truth(value, n) >= 0   ? sqlite3_bind_int(stmt, at, tt__truth(value, n))
           : tt__is_integer(value, n) ? sqlite3_bind_int64(stmt, at, strtoll(value, NULL, 10))
           : tt__is_real(value, n)    ? sqlite3_bind_double(stmt, at, tt__strtod(value, NULL))
                                      : sqlite3_bind_text(stmt, at, value, -1, SQLITE_STATIC);
}

/* Does the operation declare a variable with this fact's name? */
static bool is_declared(const tt__operation *op, const char *fact) {
    return tt__operation_variable(op, fact, strlen(fact));
}

static int bind_fact(sqlite3_stmt *stmt, int at, const tt__facts *f, size_t i) {
    const tt__variable *v = &f->operation->variables[i];
    if (v->n_types)
        return sqlite3_bind_text(stmt, at, tt__types[f->variables[i]].name, -1, SQLITE_STATIC);
    return sqlite3_bind_int64(stmt, at, f->variables[i]);
}

/* Binds the row of facts, in the order of name_facts. */
static tt_status bind_facts(tt__query *q, sqlite3_stmt *stmt, const tt__facts *f, const size_t *choice) {
    const tt__template *t = q->t;
    q->facts = *f;
    size_t n_variables = t->operation ? t->operation->n_variables : 0, n_params = choice ? t->n_params : 0;
    int at = 1, rc = SQLITE_OK;
    q->n_selects = 0; /* some SQLite plan a statement anew for other values, and ask the authorizer again */
    for (size_t i = 0; i < TT__FACT_TIME_NS && rc == SQLITE_OK; i++)
        if (!is_declared(t->operation, tt__fact_names[i]))
            rc = sqlite3_bind_int64(stmt, at++, f->values[i]);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_double(stmt, at++, f->time_ns);
    for (size_t i = 0; i < n_variables && rc == SQLITE_OK; i++)
        rc = bind_fact(stmt, at++, f, i);
    for (size_t i = 0; i < n_params && rc == SQLITE_OK; i++)
        rc = bind_parameter(stmt, at++, t->params[i].values[choice[i]]);
    return rc == SQLITE_OK ? TT_OK : fail_sqlite(q, "filling its tables");
}

/* Appends the names of the facts, as columns of a table or as a row of bound values: device, element, the
 * operation's variables, and the parameters if `choice` is given. Returns how many there are. */
static int name_facts(tt__str *out, const tt__template *t, const size_t *choice, bool as_row) {
    size_t n_variables = t->operation ? t->operation->n_variables : 0, n_params = choice ? t->n_params : 0;
    int n = 0;
    for (size_t i = 0; i < TT__FACT_COUNT + n_variables + n_params; i++) {
        const char *name = i < TT__FACT_COUNT ? tt__fact_names[i]
                           : i < TT__FACT_COUNT + n_variables
                               ? t->operation->variables[i - TT__FACT_COUNT].name
                               : t->params[i - TT__FACT_COUNT - n_variables].name;
        if (i < TT__FACT_COUNT && is_declared(t->operation, name))
            continue;
        n++;
        if (as_row)
            tt__str_addf(out, "%s?%d AS \"%s\"", n > 1 ? "," : "", n, name);
        else
            tt__str_addf(out, ",\"%s\"", name);
    }
    return n;
}

/* Creates the table of facts. Key columns are called "#", a name that no expression can use. */
static tt_status make_facts(tt__query *q, const tt__facts *f, const size_t *choice) {
    tt_status status;
    tt__str sql = {0};
    sqlite3_stmt *fill = NULL;
    tt__str_add(&sql, "CREATE TABLE tt_facts(\"#\" INTEGER PRIMARY KEY");
    const int n = name_facts(&sql, q->t, choice, false);
    tt__str_add(&sql, ")");
    TT_GOTO(tt__str_check(&sql));
    TT_GOTO(run(q, sql.text));
    tt__str_free(&sql);
    tt__str_add(&sql, "INSERT INTO tt_facts VALUES(1");
    for (int i = 0; i < n; i++)
        tt__str_add(&sql, ",?");
    tt__str_add(&sql, ")");
    TT_GOTO(tt__str_check(&sql));
    if (sqlite3_prepare_v2(q->db, sql.text, -1, &fill, NULL) != SQLITE_OK)
        TT_GOTO(fail_sqlite(q, "filling its tables"));
    TT_GOTO(bind_facts(q, fill, f, choice));
    if (sqlite3_step(fill) != SQLITE_DONE)
        TT_GOTO(fail_sqlite(q, "filling its tables"));
out:
    sqlite3_finalize(fill);
    tt__str_free(&sql);
    return status;
}

/* Creates the table of a parameter's values. */
static tt_status make_param(tt__query *q, size_t index) {
    const tt__param *p = &q->t->params[index];
    char sql[TT__NAME_MAX + 80];
    sqlite3_stmt *stmt = NULL;
    sqlite3_snprintf(sizeof sql, sql, "CREATE TABLE tt_p%d(\"#\" INTEGER PRIMARY KEY,\"%s\")", (int)index,
                     p->name);
    TT_TRY(run(q, sql));
    sqlite3_snprintf(sizeof sql, sql, "INSERT INTO tt_p%d VALUES(?,?)", (int)index);
    int rc = sqlite3_prepare_v2(q->db, sql, -1, &stmt, NULL);
    for (size_t v = 0; v < p->n_values && rc == SQLITE_OK; v++) {
        sqlite3_bind_int64(stmt, 1, (int64_t)v);
        bind_parameter(stmt, 2, p->values[v]);
        sqlite3_step(stmt);
        rc = sqlite3_reset(stmt);
    }
    tt_status status = rc == SQLITE_OK ? TT_OK : fail_sqlite(q, "filling its tables");
    sqlite3_finalize(stmt);
    return status;
}

static void lock(tt__query *q, int depth) {
    static const struct {
        int id, value;
    } limits[] = {
        {SQLITE_LIMIT_LENGTH, 1000000},
        {SQLITE_LIMIT_SQL_LENGTH, 500000},
        {SQLITE_LIMIT_COMPOUND_SELECT, 1},
        {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 0},
        {SQLITE_LIMIT_VARIABLE_NUMBER, 0},
        {SQLITE_LIMIT_FUNCTION_ARG, TT__EXPR_ARGS_MAX},
    };
    for (size_t i = 0; i < TT__COUNT(limits); i++)
        sqlite3_limit(q->db, limits[i].id, limits[i].value);
    sqlite3_limit(q->db, SQLITE_LIMIT_EXPR_DEPTH, depth);
    sqlite3_db_config(q->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    sqlite3_db_config(q->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(q->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_set_authorizer(q->db, authorize, q);
    sqlite3_progress_handler(q->db, STEP_OPS, spend, q);
}

/* `choice` NULL: the whole space. `as_row`: without tables; the statement has the facts. */
static tt_status open_sandbox(tt__query **out, const tt__template *t, const tt__facts *facts,
                              const size_t *choice, bool as_row, int depth) {
    tt_status status = TT_OK;
    tt__query *q = calloc(1, sizeof *q);
    *out = NULL;
    if (!q)
        return tt__fail_memory(sizeof *q);
    q->t = t;
    q->steps_left = STEPS_MAX;
    q->most_selects = as_row ? 2 : 1;
    if (sqlite3_open_v2(":memory:", &q->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY |
                            SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE,
                        NULL) != SQLITE_OK)
        TT_GOTO(fail_sqlite(q, "opening a database in memory"));
    if (tt__functions_add(q->db, &q->facts) != SQLITE_OK)
        TT_GOTO(fail_sqlite(q, "adding its functions"));
    if (!as_row)
        TT_GOTO(make_facts(q, facts, choice));
    for (size_t i = 0; i < t->n_params && !choice && !as_row; i++)
        TT_GOTO(make_param(q, i));
    lock(q, depth);
    *out = q;
    return TT_OK;
out:
    tt__query_close(q);
    return status;
}

void tt__query_close(tt__query *q) {
    if (!q)
        return;
    sqlite3_finalize(q->stmt);
    sqlite3_close(q->db);
    free(q);
}

/* ---- Checking ------------------------------------------------------------------------------------------ */

tt_status tt__query_checker(tt__query **out, const tt__template *t, const tt__facts *facts) {
    static const size_t choice[TT__PARAMS_MAX];
    return open_sandbox(out, t, facts, choice, false, DEPTH_ALONE);
}

tt_status tt__query_check(tt__query *q, const tt__expr *e) {
    const char *tail = "";
    tt__str sql = {0};
    tt_status status = TT_OK;
    if (!e->text)
        return TT_OK;
    tt__str_add(&sql, "SELECT (((("); /* nest deeper than the real query */
    TT_GOTO(tt__expr_scan(&sql, q->t, e));
    tt__str_add(&sql, "\n)))) FROM tt_facts");
    TT_GOTO(tt__str_check(&sql));
    q->n_selects = 0;
    int rc = sqlite3_prepare_v2(q->db, sql.text, -1, &q->stmt, &tail);
    if (rc == SQLITE_NOMEM)
        status = fail_sqlite(q, "checking an expression");
    else if (rc != SQLITE_OK)
        status = tt__template_fail(q->t->path, e->line, e->column, "`%.200s` is no expression: %s", e->text,
                                   sqlite3_errmsg(q->db));
    else if (!q->stmt || *tail || sqlite3_column_count(q->stmt) != 1)
        status = tt__template_fail(q->t->path, e->line, e->column, "`%.200s` is not one expression", e->text);
out:
    sqlite3_finalize(q->stmt);
    q->stmt = NULL;
    tt__str_free(&sql);
    return status;
}

/* ---- Querying ------------------------------------------------------------------------------------------ */

/* The names of parameters are quoted in the columns. */
static void note_used(bool used[TT__PARAMS_MAX], const char *sql, const tt__template *t) {
    char name[TT__NAME_MAX + 2];
    for (size_t i = 0; i < t->n_params; i++) {
        tt__format(name, sizeof name, "\"%s\"", t->params[i].name);
        used[i] = strstr(sql, name) != NULL;
    }
}

static bool uses_only(const bool some[TT__PARAMS_MAX], const bool used[TT__PARAMS_MAX],
                      const tt__template *t) {
    for (size_t i = 0; i < t->n_params; i++)
        if (used[i] && !some[i])
            return false;
    return true;
}

/* Appends the conditions; `used` is NULL, or those about other parameters are left out. */
static tt_status add_wheres(tt__str *sql, const tt__template *t, const bool *used) {
    tt_status status = TT_OK;
    for (size_t i = 0; i < t->n_wheres && status == TT_OK; i++) {
        bool own[TT__PARAMS_MAX];
        tt__str where = {0};
        status = tt__expr_scan(&where, t, &t->wheres[i]);
        if (status == TT_OK)
            status = tt__str_check(&where);
        if (status == TT_OK)
            note_used(own, where.text, t);
        if (status == TT_OK && (!used || uses_only(used, own, t)))
            tt__str_addf(sql, " AND (%s\n)", where.text);
        tt__str_free(&where);
    }
    return status;
}

/* `used` is for TT__QUERY_AT and _SOME, `choice` and `n_bound` for TT__QUERY_ONE. */
static tt_status write_query(tt__str *sql, const tt__template *t, tt__query_kind kind, const size_t *choice,
                             const tt__expr *const *columns, size_t n_columns, bool *used, int *n_bound) {
    const char *before = "SELECT ";
    bool all = kind == TT__QUERY_LEGAL || kind == TT__QUERY_ALL;
    for (size_t i = 0; i < t->n_params && all; i++, before = ",")
        tt__str_addf(sql, "%stt_p%zu.\"#\"", before, i);
    for (size_t i = 0; i < t->n_wheres && (kind == TT__QUERY_ONE || kind == TT__QUERY_ALL);
         i++, before = ",") {
        tt__str_addf(sql, "%s((", before);
        TT_TRY(tt__expr_scan(sql, t, &t->wheres[i]));
        tt__str_add(sql, "\n) IS TRUE)");
    }
    for (size_t i = 0; i < n_columns; i++, before = ",") {
        tt__str_addf(sql, "%s(", before);
        TT_TRY(tt__expr_scan(sql, t, columns[i]));
        tt__str_add(sql, "\n)");
    }
    TT_TRY(tt__str_check(sql));
    if (kind == TT__QUERY_AT || kind == TT__QUERY_SOME)
        note_used(used, sql->text, t);
    if (kind == TT__QUERY_ONE) {
        tt__str_add(sql, " FROM (SELECT ");
        *n_bound = name_facts(sql, t, choice, true);
        tt__str_add(sql, ") AS tt_facts");
        return tt__str_check(sql);
    }
    tt__str_add(sql, " FROM tt_facts");
    for (size_t i = 0; i < t->n_params; i++)
        if (all || used[i])
            tt__str_addf(sql, " CROSS JOIN tt_p%zu", i);
    tt__str_add(sql,
                " WHERE tt_facts.\"#\"=1"); /* SQLite then knows that there is one row, and does not sort */
    if (kind == TT__QUERY_LEGAL || kind == TT__QUERY_SOME)
        TT_TRY(add_wheres(sql, t, all ? NULL : used));
    for (size_t i = 0; i < t->n_params; i++)
        if (all)
            tt__str_addf(sql, "%stt_p%zu.\"#\"", i ? "," : " ORDER BY ", i);
        else if (used[i] && kind == TT__QUERY_AT)
            tt__str_addf(sql, " AND tt_p%zu.\"#\"=?%zu", i, i + 1);
    return tt__str_check(sql);
}

tt_status tt__query_open(tt__query **out, const tt__template *t, const tt__facts *facts, tt__query_kind kind,
                         const size_t *choice, const tt__expr *const *columns, size_t n_columns) {
    tt_status status = TT_OK;
    tt__str sql = {0};
    int n_bound = kind == TT__QUERY_AT ? TT__PARAMS_MAX : 0;
    TT_TRY(open_sandbox(out, t, facts, choice, kind == TT__QUERY_ONE, DEPTH_TOGETHER));
    tt__query *q = *out;
    TT_GOTO(write_query(&sql, t, kind, choice, columns, n_columns, q->used, &n_bound));
    const bool has_params = kind == TT__QUERY_LEGAL || kind == TT__QUERY_ALL,
               has_wheres = kind == TT__QUERY_ONE || kind == TT__QUERY_ALL;
    q->first_where = has_params ? (int)t->n_params : 0;
    q->first_value = q->first_where + (has_wheres ? (int)t->n_wheres : 0);
    sqlite3_limit(q->db, SQLITE_LIMIT_VARIABLE_NUMBER, n_bound);
    if (sqlite3_prepare_v2(q->db, sql.text, -1, &q->stmt, NULL) != SQLITE_OK)
        TT_GOTO(fail_sqlite(q, "preparing the space"));
    if (kind == TT__QUERY_ONE)
        TT_GOTO(bind_facts(q, q->stmt, facts, choice));
out:
    tt__str_free(&sql);
    if (status != TT_OK) {
        tt__query_close(q);
        *out = NULL;
    }
    return status;
}

tt_status tt__query_problem(tt__query **out, const tt__template *t, const tt__facts *facts,
                            const tt__expr *const *columns, size_t n_columns) {
    const tt__template problem = {.path = t->path, .operation = t->operation};
    TT_TRY(tt__query_open(out, &problem, facts, TT__QUERY_ONE, NULL, columns, n_columns));
    (*out)->t = t; /* the new template is used in messages; the old one may be freed */
    return TT_OK;
}

bool tt__query_uses(const tt__query *q, size_t param) {
    return q->used[param];
}

tt_status tt__query_move(tt__query *q, const unsigned char *choice) {
    bool found;
    sqlite3_reset(q->stmt);
    q->steps_left = STEPS_MAX;
    for (size_t i = 0; i < q->t->n_params; i++)
        if (q->used[i])
            sqlite3_bind_int(q->stmt, (int)i + 1, choice[i]);
    TT_TRY(tt__query_next(q, &found));
    return found ? TT_OK : tt__fail(TT_E_INTERNAL, "%s: a configuration without a row", q->t->path);
}

tt_status tt__query_again(tt__query *q, const tt__facts *facts) {
    sqlite3_reset(q->stmt);
    q->steps_left = STEPS_MAX;
    return bind_facts(q, q->stmt, facts, NULL);
}

tt_status tt__query_next(tt__query *q, bool *found) {
    int rc = sqlite3_step(q->stmt);
    *found = rc == SQLITE_ROW;
    if (rc == SQLITE_INTERRUPT)
        return tt__fail(TT_E_TEMPLATE,
                        "%s: the space is too large to go through; take away parameters or values, or let a "
                        "`where` on the first parameters exclude more",
                        q->t->path);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? TT_OK : fail_sqlite(q, "evaluating its expressions");
}

size_t tt__query_choice(const tt__query *q, size_t param) {
    return (size_t)sqlite3_column_int64(q->stmt, (int)param);
}

bool tt__query_where(const tt__query *q, size_t where) {
    return sqlite3_column_int(q->stmt, q->first_where + (int)where) != 0;
}

tt__value tt__query_value(const tt__query *q, size_t column) {
    int at = q->first_value + (int)column;
    tt__value v = {TT__VALUE_NULL, 0, 0};
    switch (sqlite3_column_type(q->stmt, at)) {
    case SQLITE_INTEGER:
        v.kind = TT__VALUE_INT;
        v.i = sqlite3_column_int64(q->stmt, at);
        v.f = sqlite3_column_double(q->stmt, at);
        break;
    case SQLITE_FLOAT:
        v.kind = TT__VALUE_REAL;
        v.f = sqlite3_column_double(q->stmt, at);
        break;
    case SQLITE_TEXT:
        v.kind = TT__VALUE_TEXT;
        break;
    }
    return v;
}
