/*
 * Turns what the public header says, a matrix, a permutation or values, into a problem of an operation and
 * the templates that may solve it, and back. The tuner and the layers below know operations, and no matrices.
 */
#ifndef TT_API_PROBLEM_H
#define TT_API_PROBLEM_H

#include <stdbool.h>

#include "base/problem.h"
#include "dispatch/context.h"
#include "dispatch/plan_cache.h"
#include "kernel/load/builtin.h"
#include "tiletune.h"

/* ---- Matrices --------------------------------------------------------------------------------------------
 */

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
/* Is it a transpose of a matrix onto itself? */
bool tt__is_in_place(const char *op);

/* The key of a plan for a matrix: the matrix as the caller wrote it, or with defaults filled in; the CUDA
 * context; and `base_align`, which divides both addresses. */
static inline void tt__matrix_key(tt__plan_key *out, const tt_problem *p, unsigned long long context,
                                  int base_align) {
    *out =
        (tt__plan_key){{(uint64_t)p->rows, (uint64_t)p->cols, (uint64_t)p->lds, (uint64_t)p->ldd,
                        (uint64_t)p->batch, (uint64_t)p->src_stride, (uint64_t)p->dst_stride,
                        (uint64_t)(uint32_t)p->elem_size << 32 | (uint32_t)p->align,
                        (uint64_t)((p->in_place != 0) + 2 * (p->warm != 0) + 4 * (p->in_graph != 0)) << 32 |
                            (uint32_t)base_align,
                        context}};
}

/* ---- Permutations ----------------------------------------------------------------------------------------
 */

/* All permutations that move the same bytes in the same way become one problem, in a canonical form, so that
 * they share a winner: a copy, a transpose, or the operation `permute`. */

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

/* ---- Questions -------------------------------------------------------------------------------------------
 */

/* A user's kernel file. */
struct tt_kernel {
    tt_ctx *ctx;
    tt__template *t;
    tt__template_set set; /* this template only */
};

typedef struct tt__question {
    tt__problem problem;
    const tt__template_set *templates; /* those of the context or of the kernel; borrowed */
    CUdeviceptr scratch;               /* as in tt_problem */
} tt__question;

/* TT_E_INVALID in a child of fork. Ask before any lock, which a thread of the parent may have held. */
tt_status tt__check_not_forked(const tt_ctx *ctx);
/* TT_E_INVALID: it is not exactly one problem of one operation, or its kernel belongs to another context. */
tt_status tt__question_of(tt__question *out, tt_ctx *ctx, const tt_problem *in);

/* TT_E_INVALID: a kernel that is NULL. */
tt_status tt__no_kernel(void);

extern const tt__tune_fn tt__tuner; /* for tuning on first use; NULL: the library has none */

#endif
