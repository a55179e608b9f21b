/*
 * Checks the expressions of a file when it is read.
 */
#ifndef TT_KERNEL_LOAD_EXPR_CHECK_H
#define TT_KERNEL_LOAD_EXPR_CHECK_H

#include "kernel/model/template.h"

/* Checks every expression of the template: it is one expression, it compiles, and it uses only names in
 * scope. TT_E_TEMPLATE names the place. */
tt_status tt__expr_check(const tt__template *t);

/* Evaluates `maxrregcount` for a configuration. TT_E_TEMPLATE: the value is not a number of registers. */
tt_status tt__expr_max_regs(int *out, const tt__template *t, const char *config);

#endif
