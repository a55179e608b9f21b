/*
 * The words and signs of an expression. Every expression passes this scanner before SQLite sees it. Only
 * listed words and signs pass, and the result is one expression with balanced parentheses.
 */
#ifndef TT_KERNEL_EXPRESSION_SCAN_H
#define TT_KERNEL_EXPRESSION_SCAN_H

#include "kernel/expression/scope.h"

enum {
    TT__EXPR_MAX = 1000,       /* characters in one expression */
    TT__EXPR_NESTING_MAX = 32, /* depth of parentheses */
};

/* Says what a name already means ("a function"), or NULL if a parameter may have it. Case does not count:
 * SQLite ignores it too. */
const char *tt__name_taken(const char *name);

/* Appends an expression of `t` as SQL on one line, with quoted names. TT_E_TEMPLATE says what is wrong and
 * where. */
tt_status tt__expr_scan(tt__str *sql, const tt__template *t, const tt__expr *e);

#endif
