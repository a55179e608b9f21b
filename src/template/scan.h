/*
 * The words and signs of an expression. Every expression passes this scanner before SQLite sees it. Only
 * listed words and signs pass, and the result is one expression with balanced parentheses.
 */
#ifndef TT_TEMPLATE_SCAN_H
#define TT_TEMPLATE_SCAN_H

#include "template/template.h"
#include "template/words.h"

enum {
    TT__EXPR_MAX = 1000,       /* characters in one expression */
    TT__EXPR_NESTING_MAX = 32, /* depth of parentheses */
    TT__EXPR_ARGS_MAX = 16,    /* arguments of one function call */
};

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

typedef struct tt__function {
    const char *name;
    int min_args, max_args;
} tt__function;
extern const tt__function tt__functions[];
extern const size_t tt__n_functions;

/* Says what a name already means ("a function"), or NULL if a parameter may have it. Case does not count:
 * SQLite ignores it too. */
const char *tt__name_taken(const char *name);

/* Appends an expression of `t` as SQL on one line, with quoted names. TT_E_TEMPLATE says what is wrong and
 * where. */
tt_status tt__expr_scan(tt__str *sql, const tt__template *t, const tt__expr *e);

#endif
