/*
 * The functions of expressions.
 */
#ifndef TT_KERNEL_EXPRESSION_FUNCTIONS_H
#define TT_KERNEL_EXPRESSION_FUNCTIONS_H

#include "kernel/model/template.h"

enum { TT__EXPR_ARGS_MAX = 16 }; /* arguments of one function call */

struct tt__facts;

typedef struct tt__function {
    const char *name;
    int min_args, max_args;
    /* NULL for whatever has no answer. A function without a body is a form of CASE. */
    tt__value (*call)(const struct tt__facts *facts, const tt__value *args, int n);
} tt__function;
extern const tt__function tt__functions[];
extern const size_t tt__n_functions;

/* The struct that kernels for permutations of any size get: copies it and says how many bytes it has. False:
 * the problem is none of `permute`, there is no such tile, or the room is too small. */
bool tt__permute_argument(void *out, size_t room, size_t *bytes, const struct tt__facts *facts);

#endif
