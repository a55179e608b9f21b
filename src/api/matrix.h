/*
 * Converts tt_problem's matrix to a problem of the operation `transpose` or `transpose_in_place`, and back.
 * The tuner and the layers below know operations, and no matrices.
 */
#ifndef TT_API_MATRIX_H
#define TT_API_MATRIX_H

#include "base/problem.h"
#include "dispatch/plan_cache.h"
#include "tiletune.h"

enum { TT__ELEMENTS_MAX_LOG2 = 44 }; /* 16 T elements: more than any memory, and sizes in bytes fit 64 bits */
#define TT__ELEMENTS_MAX (INT64_C(1) << TT__ELEMENTS_MAX_LOG2)

/* Is it a size of elements, or an alignment that makes a difference? */
static inline bool tt__power_of_two_to_16(int n) {
    return n >= 1 && n <= 16 && (n & (n - 1)) == 0;
}

/* Checks a matrix and fills in the defaults; TT_E_INVALID names the field and its value. */
tt_status tt__matrix_problem(tt__problem *out, const tt_problem *in);
/* For arrays that are aligned to `align` bytes, or less. TT_E_INVALID: that is less than an element. */
tt_status tt__matrix_align(tt__problem *p, int align);
/* The matrix of a problem. A problem that is no matrix gives a struct of zeros with its size set. */
tt_problem tt__matrix_of(const tt__problem *p);

/* TT_E_INVALID: a problem that is no matrix, but of `name`, sets a field of a matrix. */
tt_status tt__matrix_none(const tt_problem *p, const char *name);

/* The key of a plan for a matrix: the matrix as the caller wrote it, or with defaults filled in; the CUDA
 * context; and `base_align`, which divides both addresses. */
static inline void tt__matrix_key(tt__plan_key *out, const tt_problem *p, unsigned long long context,
                                  int base_align) {
    *out = (tt__plan_key){{(uint64_t)p->rows, (uint64_t)p->cols, (uint64_t)p->lds, (uint64_t)p->ldd,
                           (uint64_t)p->batch, (uint64_t)p->src_stride, (uint64_t)p->dst_stride,
                           (uint64_t)(uint32_t)p->elem_size << 32 | (uint32_t)p->align,
                           (uint64_t)((p->in_place != 0) + 2 * (p->warm != 0)) << 32 | (uint32_t)base_align,
                           context}};
}

#endif
