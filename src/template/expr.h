/*
 * Expressions evaluated by SQLite, in a sandbox: a private database in memory that knows the parameters, the
 * problem and the device, an authorizer that allows one SELECT over them and a handful of functions, and
 * limits on size and time. expr.c is the only file of this folder that knows SQLite.
 *
 * Arithmetic is SQL's: 64-bit integers, integer division, NULL for a division by zero, a real number where
 * an integer would overflow.
 */
#ifndef TT_TEMPLATE_EXPR_H
#define TT_TEMPLATE_EXPR_H

#include "template/scan.h"
#include "template/template.h"

typedef enum tt__value_kind { TT__VALUE_NULL, TT__VALUE_INT, TT__VALUE_REAL, TT__VALUE_TEXT } tt__value_kind;

typedef struct tt__value {
    tt__value_kind kind;
    int64_t i; /* INT */
    double f;  /* INT and REAL */
} tt__value;

/* As a message says what an expression comes to: "3", "0.5", "NULL (a division by zero?)". Returns out. */
char *tt__value_text(char out[TT__NAME_MAX], tt__value v);

typedef struct tt__query tt__query; /* use from one thread, free with tt__query_close */

/* Checks that every expression of the template is one expression, compiles, and keeps to what is in scope.
 * TT_E_TEMPLATE names the place. */
tt_status tt__expr_check(const tt__template *t);

/* The `maxrregcount` of a configuration. TT_E_TEMPLATE if it comes to no number of registers. */
tt_status tt__expr_max_regs(int *out, const tt__template *t, const size_t *choice);

/* What expressions are about beside the parameters. */
typedef struct tt__facts {
    const tt__operation *operation;
    int64_t values[TT__FACT_COUNT];
    double time_ns;
    int64_t variables[TT__VARIABLES_MAX]; /* of a `type`, its tt__type */
} tt__facts;

/* Those of a problem of this operation on a GPU (NULL: none). TT_E_INVALID if the problem lacks one of its
 * variables. */
tt_status tt__facts_of(tt__facts *out, const tt__operation *operation, const tt__gpu *gpu,
                       const tt__problem *p);

/* Prepares the values of `columns` (borrowed), for one configuration or, if `choice` is NULL, for each
 * configuration for which every `where` holds, in the order of declaration. */
tt_status tt__query_open(tt__query **out, const tt__template *t, const tt__facts *facts, const size_t *choice,
                         const tt__expr *const *columns, size_t n_columns);
/* The same for each combination of values, whatever a `where` says of it. */
tt_status tt__query_open_all(tt__query **out, const tt__template *t, const tt__facts *facts,
                             const tt__expr *const *columns, size_t n_columns);
/* The values of columns that no parameter occurs in: one row. */
tt_status tt__query_problem(tt__query **out, const tt__template *t, const tt__facts *facts,
                            const tt__expr *const *columns, size_t n_columns);
/* The same query of another problem. */
tt_status tt__query_again(tt__query *q, const tt__facts *facts);
void tt__query_close(tt__query *q);

/* Goes to the next row; *found is false after the last. TT_E_TEMPLATE if the evaluation takes too long. */
tt_status tt__query_next(tt__query *q, bool *found);

/* Of the current row: the index of a parameter's value (not in queries of one configuration); whether a
 * `where` holds (not in queries of those for which all do); the value of a column. */
size_t tt__query_choice(const tt__query *q, size_t param);
bool tt__query_where(const tt__query *q, size_t where);
tt__value tt__query_value(const tt__query *q, size_t column);

#endif
