/*
 * Evaluates expressions in SQLite, in a sandbox: a private database in memory that has the parameters, the
 * problem and the device. An authorizer allows one SELECT over them and a few functions, and there are limits
 * on size and time. In this folder, only expr.c uses SQLite.
 *
 * Arithmetic is that of SQL: 64-bit integers, integer division, NULL after a division by zero, and a real
 * number if an integer would overflow.
 */
#ifndef TT_KERNEL_EXPRESSION_EXPR_H
#define TT_KERNEL_EXPRESSION_EXPR_H

#include "kernel/expression/scan.h"
#include "kernel/model/template.h"

typedef enum tt__value_kind { TT__VALUE_NULL, TT__VALUE_INT, TT__VALUE_REAL, TT__VALUE_TEXT } tt__value_kind;

typedef struct tt__value {
    tt__value_kind kind;
    int64_t i; /* INT */
    double f;  /* for INT and REAL */
} tt__value;

/* The value for a message: "3", "0.5", "NULL (a division by zero?)". Returns out. */
char *tt__value_text(char out[TT__NAME_MAX], tt__value v);
/* Is it a condition that holds: a number other than 0? */
bool tt__value_holds(tt__value v);

typedef struct tt__query tt__query; /* use from one thread, free with tt__query_close */

/* The values that expressions can use, other than parameters. */
typedef struct tt__facts {
    const tt__operation *operation;
    int64_t values[TT__FACT_COUNT];
    double time_ns;
    int64_t variables[TT__VARIABLES_MAX]; /* a number, or the tt__type of a `type` */
} tt__facts;

/* Prepares a query that only checks expressions. All variables and parameters of `t` are in scope. */
tt_status tt__query_checker(tt__query **out, const tt__template *t, const tt__facts *facts);
/* TT_E_TEMPLATE, with the place, if this is not one expression that compiles. An expression without text
 * passes. */
tt_status tt__query_check(tt__query *q, const tt__expr *e);

/* The rows of a query, in the order of declaration. */
typedef enum tt__query_kind {
    TT__QUERY_ONE,   /* one configuration, `choice` */
    TT__QUERY_LEGAL, /* each configuration that satisfies every `where` */
    TT__QUERY_ALL,   /* each combination of values, whether or not a `where` rejects it */
    TT__QUERY_AT, /* the configuration that tt__query_move goes to; joins only parameters that columns use */
    TT__QUERY_SOME, /* each combination of those parameters, legal by each `where` about no others */
} tt__query_kind;

/* Prepares a query of `columns` (borrowed). `choice` is NULL but for TT__QUERY_ONE. */
tt_status tt__query_open(tt__query **out, const tt__template *t, const tt__facts *facts, tt__query_kind kind,
                         const size_t *choice, const tt__expr *const *columns, size_t n_columns);
/* A query of columns that use no parameter: one row. */
tt_status tt__query_problem(tt__query **out, const tt__template *t, const tt__facts *facts,
                            const tt__expr *const *columns, size_t n_columns);
bool tt__query_uses(const tt__query *q, size_t param);
/* The row of this configuration. Only parameters that are used count. */
tt_status tt__query_move(tt__query *q, const unsigned char *choice);
/* Does the column's condition hold in the current row? */
bool tt__query_holds(const tt__query *q, size_t column);
/* Repeats the query for another problem. */
tt_status tt__query_again(tt__query *q, const tt__facts *facts);
void tt__query_close(tt__query *q);
/* Reads the first n columns of a query of one row, and closes it. */
tt_status tt__query_row(tt__value *out, tt__query *q, size_t n);

/* Moves to the next row; *found is false after the last. TT_E_TEMPLATE: the evaluation takes too long. */
tt_status tt__query_next(tt__query *q, bool *found);

/* These read the current row: the index of a parameter's value, whether a `where` holds, and the value of a
 * column. A query of one configuration has no index. A query that returns only rows that satisfy all has no
 * `where`. */
size_t tt__query_choice(const tt__query *q, size_t param);
bool tt__query_where(const tt__query *q, size_t where);
tt__value tt__query_value(const tt__query *q, size_t column);

#endif
