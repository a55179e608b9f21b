/*
 * Expressions: compiled when a file is read, evaluated for a problem, a GPU and a configuration. A look-up
 * evaluates some dozens within a microsecond, and a run millions.
 *
 * Arithmetic is that of SQL: 64-bit integers, integer division, NULL after a division by zero, and a real
 * number if an integer would overflow. A word counts as 0 in arithmetic, and is larger than any number.
 */
#ifndef TT_KERNEL_EXPRESSION_EXPR_H
#define TT_KERNEL_EXPRESSION_EXPR_H

#include "kernel/expression/scan.h"

/* What an evaluation knows. Set `known` to 0 after a change of `choice` or of the facts. */
typedef struct tt__inputs {
    const tt__template *t; /* whose parameters and `let` lines expressions use */
    const tt__facts *facts;
    unsigned char choice[TT__PARAMS_MAX]; /* the index of each parameter's value */
    bool chosen;                          /* or parameters have no values, and are NULL */
    unsigned known;                       /* a bit for each value in `lets` */
    size_t spent;                         /* expressions evaluated */
    tt__value lets[TT__DERIVED_MAX];
} tt__inputs;

/* Compiles all expressions of a template, those of its own operation included. TT_E_TEMPLATE, with the place:
 * one is wrong, or uses a name that is not in scope. */
tt_status tt__expr_compile(tt__template *t);

/* Starts an evaluation: without a configuration, or with one. */
void tt__inputs_start(tt__inputs *in, const tt__template *t, const tt__facts *facts, const size_t *choice);
/* The value of a compiled expression; NULL if it has no text. */
tt__value tt__expr_value(tt__inputs *in, const tt__expr *e);

/* Is the value that of `in` for all problems on its GPU that have the same value in each `given` variable (a
 * bit for each)? */
bool tt__expr_is_certain(tt__inputs *in, const tt__expr *e, uint64_t given);
/* Is it the name of a number of the problem, and so always an integer? */
bool tt__expr_is_number(const tt__expr *e);

/* A walk evaluates no more expressions than this: some seconds. */
enum { TT__EVALUATIONS_MAX = 1 << 25 };
/* Calls `fn` for each combination of the values of these parameters (a bit for each), the first changing
 * slowest. `filter`: only where every `where` holds that uses no others. TT_E_TEMPLATE: that takes too long.
 */
typedef tt_status (*tt__visit_fn)(void *user, tt__inputs *in);
tt_status tt__expr_walk(tt__inputs *in, uint32_t vary, bool filter, tt__visit_fn fn, void *user);

#endif
