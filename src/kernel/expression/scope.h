/*
 * The names that an expression may use: parameters, variables, `derived` and `let` lines, facts of the
 * problem and the device, functions. What is in scope depends on where the expression stands.
 *
 * A word is n characters of the expression's text, so that messages know its place.
 */
#ifndef TT_KERNEL_EXPRESSION_SCOPE_H
#define TT_KERNEL_EXPRESSION_SCOPE_H

#include "base/str.h"
#include "kernel/expression/functions.h"

/* Names that expressions know in addition to parameters and the operation's variables. */
typedef enum tt__fact {
    TT__FACT_ELEM_SIZE,
    TT__FACT_ALIGN,
    TT__FACT_MAX_THREADS,
    TT__FACT_SHARED,
    TT__FACT_SM_COUNT,
    TT__FACT_CC,
    TT__FACT_L2_BYTES,
    TT__FACT_TIME_NS, /* in metrics only */
    TT__FACT_COUNT
} tt__fact;
extern const char *const tt__fact_names[TT__FACT_COUNT];
const char *tt__fact_says(tt__fact f); /* "a property of the device" */

typedef struct tt__scope {
    const tt__template *t;
    const tt__expr *e; /* one of the template's, or of its operation's */
} tt__scope;

/* Fails with TT_E_TEMPLATE and the place of `where` in the expression's text. */
#define TT__SCOPE_FAIL(s, where, ...)                                                                        \
    tt__template_fail((s)->t->path, (s)->e->line, (s)->e->column + (int)((where) - (s)->e->text), __VA_ARGS__)

/* Is the word a parameter, a variable or a fact? */
bool tt__scope_has(const tt__scope *s, const char *word, size_t n);
/* The `derived` or `let` line of this name, or NULL. */
const tt__derived *tt__scope_derived(const tt__scope *s, const char *word, size_t n);
/* A parameter's value or a variable's type that is spelled like the word, or NULL. `near` may be NULL. */
const char *tt__scope_value(const tt__scope *s, const char *word, size_t n, tt__suggest *near);
/* Fails: says what is wrong with a word that is neither in scope nor a function or an operator. */
tt_status tt__scope_unknown(const tt__scope *s, const char *word, size_t n);

#endif
