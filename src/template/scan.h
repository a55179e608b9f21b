/*
 * The words and signs of an expression. Every expression passes this scanner before SQLite sees it. Only
 * listed words and signs pass, and the result is one expression with balanced parentheses.
 */
#ifndef TT_TEMPLATE_SCAN_H
#define TT_TEMPLATE_SCAN_H

#include "template/template.h"

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

/* ASCII only, in any locale. */
bool tt__is_word_char(char c);                   /* [A-Za-z0-9_] */
bool tt__is_word(const char *text, size_t n);    /* [A-Za-z_][A-Za-z0-9_]* */
bool tt__is_integer(const char *text, size_t n); /* -?digits, no leading zeros, within 64 bits */

/* Appends an expression of `t` as SQL on one line, with quoted names. TT_E_TEMPLATE says what is wrong and
 * where. */
tt_status tt__expr_scan(tt__str *sql, const tt__template *t, const tt__expr *e);

/* Fails with TT_E_TEMPLATE: "path:line:column: sentence". A column of 0 is left out. Control characters from
 * the template become '?'. */
tt_status tt__template_fail(const char *path, int line, int column, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
