/*
 * Permutations as problems: of `copy` and `transpose` where these do the same, otherwise of `permute`. The
 * variables of the latter are those of kernel_templates/ops/permute.cu, in the same order.
 */
#include "api/permutation.h"

#include <stdio.h>
#include <string.h>

#include "api/matrix.h"
#include "kernel/space/operation.h"

static tt_status check_axes(const tt_permutation *p) {
    uint64_t seen = 0;
    for (int i = 0; i < p->rank; i++) {
        if (p->perm[i] < 0 || p->perm[i] >= p->rank)
            return tt__fail(TT_E_INVALID, "perm[%d] is %d: a tensor of rank %d has the axes 0 to %d", i,
                            p->perm[i], p->rank, p->rank - 1);
        if (seen >> p->perm[i] & 1)
            return tt__fail(TT_E_INVALID, "perm names axis %d twice: each axis stands there once",
                            p->perm[i]);
        seen |= UINT64_C(1) << p->perm[i];
    }
    return TT_OK;
}

static tt_status check_sizes(const tt_permutation *p) {
    int64_t elements = 1, reach = 1;
    for (int i = 0; i < p->rank; i++) {
        if (p->dims[i] < 1)
            return tt__fail(TT_E_INVALID, "dims[%d] is %lld: %s", i, (long long)p->dims[i],
                            p->dims[i] ? "it must be at least 1"
                                       : "an empty tensor has nothing to move, so leave the call out");
        if (p->dims[i] > TT__ELEMENTS_MAX / elements)
            return tt__fail(TT_E_INVALID, "the tensor has more than 2^%d elements, the limit",
                            TT__ELEMENTS_MAX_LOG2);
        elements *= p->dims[i];
    }
    for (int i = 0; i < p->rank && p->strides; i++) {
        if (p->dims[i] > 1 && p->strides[i] < 1)
            return tt__fail(TT_E_INVALID,
                            "strides[%d] is %lld: strides below 1 (a turned or repeated axis) are not "
                            "supported; make the source contiguous first",
                            i, (long long)p->strides[i]);
        if (p->dims[i] > 1 && p->strides[i] > (TT__ELEMENTS_MAX - reach) / (p->dims[i] - 1))
            return tt__fail(TT_E_INVALID,
                            "strides[%d] is %lld: the source reaches over more than 2^%d elements", i,
                            (long long)p->strides[i], TT__ELEMENTS_MAX_LOG2);
        reach += p->dims[i] > 1 ? (p->dims[i] - 1) * p->strides[i] : 0;
    }
    return TT_OK;
}

static tt_status check(const tt_permutation *p) {
    if (p->rank < 1 || p->rank > TT_RANK_MAX)
        return tt__fail(TT_E_INVALID, "rank is %d: it must be 1 to %d", p->rank, TT_RANK_MAX);
    if (!p->dims || !p->perm)
        return tt__fail(TT_E_INVALID, "%s of a permutation is NULL", p->dims ? "perm" : "dims");
    int e = p->elem_size ? p->elem_size : 4;
    if (!tt__power_of_two_to_16(e))
        return tt__fail(TT_E_INVALID, "elem_size is %d bytes: it must be 1, 2, 4, 8 or 16", e);
    TT_TRY(check_axes(p));
    return check_sizes(p);
}

/* The dimensions of the destination, the innermost first, without those of 1. Neighbours are merged if the
 * source has them side by side, too. */
static void merge(tt__canonical *c, const tt_permutation *p) {
    int64_t dense[TT_RANK_MAX], stride = 1;
    for (int i = p->rank; i-- > 0; stride *= p->dims[i])
        dense[i] = stride;
    for (int i = p->rank; i-- > 0;) {
        int axis = p->perm[i];
        int64_t dim = p->dims[axis], step = p->strides ? p->strides[axis] : dense[axis];
        if (dim == 1)
            continue;
        if (c->n && step == c->dim[c->n - 1] * c->stride[c->n - 1]) {
            c->dim[c->n - 1] *= dim;
            continue;
        }
        c->dim[c->n] = dim;
        c->stride[c->n++] = step;
    }
    if (c->n == 0)
        c->dim[0] = c->stride[0] = c->n = 1;
}

/* Can two elements side by side always be taken as one? */
static bool pairs(const tt__canonical *c) {
    bool even = c->stride[0] == 1 && c->dim[0] % 2 == 0 && 2 * c->elem_size <= c->align;
    for (int i = 1; i < c->n; i++)
        even &= c->stride[i] % 2 == 0;
    return even;
}

static void widen(tt__canonical *c) {
    while (pairs(c)) {
        c->elem_size *= 2;
        c->dim[0] /= 2;
        for (int i = 1; i < c->n; i++)
            c->stride[i] /= 2;
    }
    if (c->dim[0] > 1 || c->n == 1)
        return;
    c->n--;
    memmove(c->dim, c->dim + 1, sizeof *c->dim * (size_t)c->n);
    memmove(c->stride, c->stride + 1, sizeof *c->stride * (size_t)c->n);
}

/* Indices that lead to one element of the source would make its dimensions' order ambiguous. Sorted by
 * stride, each dimension must step over all before it. */
static tt_status check_overlap(const tt__canonical *c) {
    int64_t reach = 1;
    uint64_t done = 0;
    for (int k = 0; k < c->n; k++) {
        int least = -1;
        for (int i = 0; i < c->n; i++)
            if (!(done >> i & 1) && (least < 0 || c->stride[i] < c->stride[least]))
                least = i;
        if (c->stride[least] < reach)
            return tt__fail(TT_E_INVALID,
                            "the source overlaps itself: a stride of %lld elements is less than the %lld "
                            "that the smaller strides reach over",
                            (long long)c->stride[least], (long long)reach);
        reach += (c->dim[least] - 1) * c->stride[least];
        done |= UINT64_C(1) << least;
    }
    return TT_OK;
}

tt_status tt__permutation_canonical(tt__canonical *out, const tt_permutation *p, int align) {
    TT_TRY(check(p));
    if (p->align && !tt__power_of_two_to_16(p->align))
        return tt__fail(TT_E_INVALID, "align is %d bytes: it must be 1, 2, 4, 8, 16, or 0 for the default",
                        p->align);
    int least = p->elem_size ? p->elem_size : 4;
    if (align < least)
        return tt__fail(
            TT_E_INVALID,
            "elements of %d bytes lie at multiples of %d: tensors aligned to %d cannot be permuted", least,
            least, align);
    *out = (tt__canonical){.elem_size = least, .align = align};
    merge(out, p);
    TT_TRY(check_overlap(out));
    widen(out);
    return out->n <= TT__CANONICAL_DIMS
               ? TT_OK
               : tt__fail(TT_E_UNSUPPORTED,
                          "%d dimensions remain after merging, and %d is the limit: permute in two steps",
                          out->n, TT__CANONICAL_DIMS);
}

/* Rows become columns, in each matrix of a batch. Matrices of a batch lie one behind the other. */
static bool is_transpose(const tt__canonical *c) {
    return (c->n == 2 || c->n == 3) && c->stride[1] == 1 &&
           (c->n == 2 || c->stride[2] >= (c->dim[0] - 1) * c->stride[0] + c->dim[1]);
}

static tt_status as_transpose(tt__problem *out, const tt__canonical *c, int warm) {
    tt_problem m = TT_INIT(tt_problem);
    m.rows = c->dim[0];
    m.cols = c->dim[1];
    m.lds = c->stride[0];
    m.warm = warm;
    m.elem_size = c->elem_size;
    m.batch = c->n == 3 ? c->dim[2] : 1;
    m.src_stride = c->n == 3 ? c->stride[2] : 0;
    TT_TRY(tt__matrix_problem(out, &m));
    return tt__matrix_align(out, c->align);
}

tt_status tt__permutation_problem(tt__problem *out, const tt_permutation *p, int align) {
    tt__canonical c;
    tt__problem copy;
    double bytes;
    TT_TRY(tt__permutation_canonical(&c, p, align));
    *out = (tt__problem){.warm = p->warm != 0};
    if (is_transpose(&c))
        return as_transpose(out, &c, p->warm);
    bytes = c.elem_size;
    for (int i = 0; i < c.n; i++)
        bytes *= (double)c.dim[i];
    out->moved_bytes = 2 * bytes;
    /* `copy` asks for aligned addresses, and less than 2^42 bytes. `permute` takes the rest. */
    if (c.n == 1 && c.stride[0] == 1 && c.align == 16 && tt__problem_copy(&copy, out)) {
        *out = copy;
        return TT_OK;
    }
    tt__copy(out->op, sizeof out->op, "permute");
    for (int of_stride = 0; of_stride < 2; of_stride++)
        for (int i = 0; i < TT__CANONICAL_DIMS; i++) {
            tt__setting *s = &out->settings[out->n++];
            snprintf(s->name, sizeof s->name, "%s%d", of_stride ? "stride" : "dim", i);
            s->number = i >= c.n ? 1 : of_stride ? c.stride[i] : c.dim[i];
        }
    tt__problem_set(out, "elem_size", c.elem_size);
    tt__problem_set(out, "align", c.align);
    return TT_OK;
}
