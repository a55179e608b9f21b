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

static inline tt__value tt__value_null(void) {
    return (tt__value){TT__VALUE_NULL, 0, 0, NULL};
}
static inline tt__value tt__value_int(int64_t i) {
    return (tt__value){TT__VALUE_INT, i, (double)i, NULL};
}
/* What is not a number is NULL. */
static inline tt__value tt__value_real(double f) {
    return f == f ? (tt__value){TT__VALUE_REAL, 0, f, NULL} : tt__value_null();
}
/* A value of a parameter, as expressions see it: an integer, a real, or a word. */
tt__value tt__value_of_text(const char *text);
/* Less than 0, 0, or more: the order of two values that are not NULL. */
int tt__value_compare(tt__value a, tt__value b);
/* The value for a message: "3", "0.5", "NULL (a division by zero?)". Returns out. */
char *tt__value_text(char out[TT__NAME_MAX], tt__value v);
/* Is it a condition that holds: a number other than 0? */
bool tt__value_holds(tt__value v);

/* The values that expressions can use, other than parameters. */
typedef struct tt__facts {
    const tt__operation *operation;
    int64_t values[TT__FACT_COUNT];
    double time_ns;
    int64_t variables[TT__VARIABLES_MAX]; /* a number, or the tt__type of a `type` */
} tt__facts;

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
/* A bit for each parameter that it uses, also by `let` lines. */
uint32_t tt__expr_uses(const tt__expr *e);

/* A walk evaluates no more expressions than this: some seconds. */
enum { TT__EVALUATIONS_MAX = 1 << 25 };
/* Calls `fn` for each combination of the values of these parameters (a bit for each), the first changing
 * slowest. `filter`: only where every `where` holds that uses no others. TT_E_TEMPLATE: that takes too long.
 */
typedef tt_status (*tt__visit_fn)(void *user, tt__inputs *in);
tt_status tt__expr_walk(tt__inputs *in, uint32_t vary, bool filter, tt__visit_fn fn, void *user);

#endif
