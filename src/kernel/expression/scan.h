/*
 * The words and signs of an expression. Every expression passes this scanner before it is compiled (expr.c).
 * Only listed words and signs pass, and messages say what is wrong with all others.
 */
#ifndef TT_KERNEL_EXPRESSION_SCAN_H
#define TT_KERNEL_EXPRESSION_SCAN_H

#include "kernel/expression/scope.h"

enum {
    TT__EXPR_MAX = 1000,       /* characters in one expression */
    TT__EXPR_NESTING_MAX = 32, /* depth of parentheses */
};

/* Says what a name already means ("a function"), or NULL if a parameter may have it. Case does not count,
 * as in SQL. */
const char *tt__name_taken(const char *name);

/* Appends an expression of `t` with one blank behind each token, and with quoted names. The `let` lines that
 * it uses must be compiled already. TT_E_TEMPLATE says what is wrong and where. */
tt_status tt__expr_scan(tt__str *out, const tt__template *t, const tt__expr *e);

#endif
