/* What reads an expression (python.c) asks of what it reads (python_value.c). */
#ifndef TT_TUNER_T1_PYTHON_VALUE_H
#define TT_TUNER_T1_PYTHON_VALUE_H

#include "tuner/t1/python.h"

/* How strongly operators of our language bind. */
enum {
    TT__PY_OR = 1,
    TT__PY_AND,
    TT__PY_NOT,
    TT__PY_COMPARE,
    TT__PY_BITS,
    TT__PY_SUM,
    TT__PY_PRODUCT,
    TT__PY_SIGN,
    TT__PY_ATOM
};

tt__py tt__py_bool(bool value);
tt__py tt__py_real(double value);

/* ---- What values are made of ---- */

/* A text in the arena; TT_E_INVALID if that is longer than an expression may be. */
tt_status tt__py_put(const char **out, tt__py_arena *a, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The text as an operand of an operator that binds so strongly. */
tt_status tt__py_operand(const char **out, tt__py_arena *a, const tt__py *v, int level);
/* "l op r"; nothing is known of the bounds. */
tt_status tt__py_two(tt__py *out, tt__py_arena *a, tt__py_kind kind, int level, const char *op,
                     const tt__py *l, const tt__py *r);
/* TT_E_INVALID unless it is a number; true and false become 1 and 0. */
tt_status tt__py_number(tt__py *v);
tt_status tt__py_to_real(tt__py *v, tt__py_arena *a);
/* The divisor of a ratio, and its dividend. */
tt__py tt__py_over(const tt__py *v);
tt__py tt__py_above(const tt__py *v);

/* ---- Operators and functions ---- */

/* `op` is Python's: + - * / // % ** | & ^ << >> */
tt_status tt__py_binary(tt__py *out, tt__py_arena *a, const char *op, tt__py l, tt__py r);
/* < <= > >= == != */
tt_status tt__py_compare(tt__py *out, tt__py_arena *a, const char *op, tt__py l, tt__py r);
/* `list` of constants */
tt_status tt__py_in(tt__py *out, tt__py_arena *a, tt__py v, const tt__py *list, bool negated);
tt_status tt__py_and_or(tt__py *out, tt__py_arena *a, bool is_and, tt__py l, tt__py r);
tt_status tt__py_not(tt__py *out, tt__py_arena *a, tt__py v);
tt_status tt__py_minus(tt__py *out, tt__py_arena *a, tt__py v);
tt_status tt__py_if(tt__py *out, tt__py_arena *a, tt__py condition, tt__py yes, tt__py no);
/* A function by its name in Python; TT_E_INVALID if there is none of that name. */
tt_status tt__py_call(tt__py *out, tt__py_arena *a, const char *name, size_t length, const tt__py *args,
                      size_t n);

#endif
