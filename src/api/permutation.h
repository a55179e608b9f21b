/*
 * The canonical form of a permutation. All permutations that move the same bytes in the same way become one
 * problem, so that they share a winner: a copy, a transpose, or the operation `permute`.
 */
#ifndef TT_API_PERMUTATION_H
#define TT_API_PERMUTATION_H

#include "base/problem.h"
#include "tiletune.h"

enum { TT__CANONICAL_DIMS = 16 };

/* Dimensions of the destination, which is dense, the innermost first. */
typedef struct tt__canonical {
    int n, elem_size, align;
    int64_t dim[TT_RANK_MAX], stride[TT_RANK_MAX]; /* strides of the source, in elements */
} tt__canonical;

/* Drops dimensions of 1, merges neighbours that stay neighbours, and takes runs of the innermost dimension as
 * larger elements, where `align`, which divides both addresses, allows. TT_E_INVALID names what is wrong.
 * TT_E_UNSUPPORTED: more than 16 dimensions remain. */
tt_status tt__permutation_canonical(tt__canonical *out, const tt_permutation *p, int align);
/* The problem of that form. */
tt_status tt__permutation_problem(tt__problem *out, const tt_permutation *p, int align);

#endif
