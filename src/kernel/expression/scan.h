/*
 * The names, words and signs of an expression.
 *
 * Names are parameters, variables, `derived` and `let` lines, facts of the problem and the device, functions.
 * What is in scope depends on where the expression stands. Every expression passes the scanner before it is
 * compiled (expr.c): only listed words and signs pass, and messages say what is wrong with all others.
 */
#ifndef TT_KERNEL_EXPRESSION_SCAN_H
#define TT_KERNEL_EXPRESSION_SCAN_H

#include "base/str.h"
#include "kernel/model/template.h"

/* ---- Facts --------------------------------------------------------------------------------------------- */

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

/* The values that expressions can use, other than parameters. */
typedef struct tt__facts {
    const tt__operation *operation;
    int64_t values[TT__FACT_COUNT];
    double time_ns;
    int64_t variables[TT__VARIABLES_MAX]; /* a number, or the tt__type of a `type` */
} tt__facts;

/* ---- Functions ----------------------------------------------------------------------------------------- */

enum { TT__EXPR_ARGS_MAX = 16 }; /* arguments of one function call */

typedef struct tt__function {
    const char *name;
    int min_args, max_args;
    bool of_problem; /* it also uses what is no argument */
    /* NULL for whatever has no answer. A function without a body is a form of CASE. */
    tt__value (*call)(const tt__facts *facts, const tt__value *args, int n);
} tt__function;
extern const tt__function tt__functions[];
extern const size_t tt__n_functions;

/* The struct that kernels for permutations of any size get: copies it and says how many bytes it has. False:
 * the problem is none of `permute`, there is no such tile, or the room is too small. */
bool tt__permute_argument(void *out, size_t room, size_t *bytes, const tt__facts *facts);

/* Which template of such kernels has a legal default, the first one as 0; -1: none has. This takes less than
 * the tile. False: the problem is none of `permute`, or the device is so small that the tile must be known.
 */
bool tt__permute_template(int *out, const tt__facts *facts);

/* ---- Scope --------------------------------------------------------------------------------------------- */

/* A word is n characters of the expression's text, so that messages know its place. */
typedef struct tt__scope {
    const tt__template *t;
    const tt__expr *e; /* one of the template's, or of its operation's */
} tt__scope;

/* Fails with TT_E_TEMPLATE and the place of `where` in the expression's text. */
#define TT__SCOPE_FAIL(s, where, ...)                                                                        \
    tt__template_fail((s)->t->path, (s)->e->line, (s)->e->column + (int)((where) - (s)->e->text), __VA_ARGS__)

/* The `derived` or `let` line of this name, or NULL. */
const tt__derived *tt__scope_derived(const tt__scope *s, const char *word, size_t n);
/* A parameter's value or a variable's type that is spelled like the word, or NULL. `near` may be NULL. */
const char *tt__scope_value(const tt__scope *s, const char *word, size_t n, tt__suggest *near);

/* ---- The scanner --------------------------------------------------------------------------------------- */

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
