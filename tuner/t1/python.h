/*
 * Expressions and lists as T1 files write them, in Python's language (or C's && || !), made into ours: "(a %
 * b == 0) or c" becomes "a % b = 0 OR c". Where the two languages mean different things by one sign (/ and %
 * of negative numbers, a fraction), the result says what Python means, or the expression is refused.
 */
#ifndef TT_TUNER_T1_PYTHON_H
#define TT_TUNER_T1_PYTHON_H

#include <stdint.h>

#include "base/str.h"

enum {
    TT__PY_TEXT_MAX = 4000,  /* characters of an expression */
    TT__PY_ITEMS_MAX = 1024, /* of a list */
    TT__PY_NESTING_MAX = 48,
};

typedef enum tt__py_kind {
    TT__PY_INT,
    TT__PY_BOOL,  /* 0 or 1 */
    TT__PY_TRUTH, /* good for a condition, not for a number: `a or b` of numbers */
    TT__PY_RATIO, /* of two integers: a / b */
    TT__PY_REAL,
    TT__PY_WORD,
    TT__PY_LIST,
} tt__py_kind;

typedef struct tt__py {
    tt__py_kind kind;
    bool constant; /* INT and BOOL: `value` is known; WORD: `text` is the word itself, else a parameter's name
                    */
    int64_t value;
    double low, high; /* INT: between which it lies; REAL that is constant: both */
    int level;        /* how strongly the outermost operator of `text` binds */
    const char *text; /* in our language; RATIO: the dividend */
    const char *over; /* RATIO: the divisor, as an operand of any operator */
    double over_low;  /* RATIO: what it is at least */
    size_t n;         /* LIST: its members; WORD that is no constant: its values */
    const struct tt__py *items;
} tt__py;

typedef struct tt__py_name {
    const char *name;
    tt__py value;
} tt__py_name;

/* Memory of values: all goes at once. Zero-initialise. */
typedef struct tt__py_arena {
    struct tt__py_chunk *chunks;
    size_t used; /* bytes, of all */
} tt__py_arena;
void tt__py_free(tt__py_arena *arena);

/* What an expression comes to, in the scope of these names. TT_E_INVALID says what was found and expected;
 * put its place in front. The value's texts and lists live in the arena. */
tt_status tt__py_read(tt__py *out, tt__py_arena *arena, const char *text, const tt__py_name *names, size_t n);

/* A value to be a whole number (a fraction is dropped), or a condition. TT_E_INVALID if it is none. */
tt_status tt__py_whole(tt__py *v, tt__py_arena *arena);
tt_status tt__py_condition(const tt__py *v);
/* A whole number above zero, rounded up: ceil_div. */
tt_status tt__py_ceil(tt__py *out, tt__py_arena *arena, tt__py a, tt__py b);
tt_status tt__py_times(tt__py *out, tt__py_arena *arena, tt__py a, tt__py b);

/* Its text in our language. */
tt_status tt__py_text(const char **out, tt__py_arena *arena, const tt__py *v);

tt__py tt__py_integer(int64_t value); /* `text` is NULL */
/* An array of values in the arena, or NULL and the status TT_E_NO_MEMORY set. */
void *tt__py_alloc(tt__py_arena *arena, size_t bytes);

#endif
