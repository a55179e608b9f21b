/*
 * What a caller asks for as a problem: a matrix, a permutation, a built-in operation, or a user's kernel; and
 * tt_best, which answers it.
 */
#include "api/problem.h"

#include <string.h>

#include "api/sized.h"
#include "dispatch/ladder.h"
#include "kernel/load/builtin.h"
#include "kernel/space/config.h"
#include "kernel/space/operation.h"

/* ---- Matrices --------------------------------------------------------------------------------------------
 */

/* Problems of the built-in transposes. The variables are those of kernel_templates/ops/transpose.cu, in the
 * same order; a test compares the two. */

/* The fields of a matrix in tt_problem. All but the last are variables, of the same names. */
static const struct {
    char name[16];
    size_t at;
    bool is_int; /* else int64_t */
} fields[] = {
    {"rows", offsetof(tt_problem, rows), false},
    {"cols", offsetof(tt_problem, cols), false},
    {"elem_size", offsetof(tt_problem, elem_size), true},
    {"lds", offsetof(tt_problem, lds), false},
    {"ldd", offsetof(tt_problem, ldd), false},
    {"batch", offsetof(tt_problem, batch), false},
    {"src_stride", offsetof(tt_problem, src_stride), false},
    {"dst_stride", offsetof(tt_problem, dst_stride), false},
    {"align", offsetof(tt_problem, align), true},
    {"in_place", offsetof(tt_problem, in_place), true},
};
enum { FIELDS = sizeof fields / sizeof *fields, VARIABLES = FIELDS - 1 };

static int64_t field_of(const tt_problem *p, size_t i) {
    const char *at = (const char *)p + fields[i].at;
    return fields[i].is_int ? *(const int *)at : *(const int64_t *)at;
}

/* TT_E_INVALID: a problem that is no matrix, but of `name`, sets a field of a matrix. `where` it belongs. */
static tt_status no_matrix(const tt_problem *p, const char *name, const char *where) {
    for (size_t i = 0; i < FIELDS; i++)
        if (field_of(p, i))
            return tt__fail(TT_E_INVALID, "%s is %lld in a problem of %s: say it in %s", fields[i].name,
                            (long long)field_of(p, i), name, where);
    return TT_OK;
}

/* The largest power of two up to 16 that divides the distances between rows and between matrices. */
static int most_align(const tt_problem *p) {
    int64_t bits = p->lds | p->ldd | (p->batch > 1 ? p->src_stride | p->dst_stride : 0);
    bits = bits * p->elem_size | 16;
    return (int)(bits & -bits);
}

static tt_status check_pitch(const char *name, int64_t value, int64_t least, const char *what) {
    if (value >= least)
        return TT_OK;
    return tt__fail(TT_E_INVALID, "%s is %lld: %s of %lld elements needs at least that many", name,
                    (long long)value, what, (long long)least);
}

/* Matrices of a batch must not overlap, so a stride is at least as long as a matrix. */
static tt_status check_stride(const char *name, int64_t value, int64_t least, int64_t batch,
                              const char *what) {
    if (batch == 1 || (value >= least && value <= TT__ELEMENTS_MAX / batch))
        return TT_OK;
    return tt__fail(TT_E_INVALID, "%s is %lld: expected %lld (a %s matrix) to 2^%d / batch", name,
                    (long long)value, (long long)least, what, TT__ELEMENTS_MAX_LOG2);
}

/* What lies in the gaps of a rectangle would have to stay, but other rows have their gaps elsewhere. */
static tt_status check_in_place(const tt_problem *p) {
    if (p->rows != p->cols && (p->lds != p->cols || p->ldd != p->rows))
        return tt__fail(TT_E_INVALID,
                        "%lld x %lld in place with lds %lld and ldd %lld: only square matrices may have gaps "
                        "between rows, leave both out",
                        (long long)p->rows, (long long)p->cols, (long long)p->lds, (long long)p->ldd);
    if (p->rows != p->cols && p->batch > 1)
        return tt__fail(TT_E_INVALID,
                        "a batch of %lld matrices, %lld x %lld, in place: only square matrices may come in "
                        "batches, transpose one at a time",
                        (long long)p->batch, (long long)p->rows, (long long)p->cols);
    if (p->rows != p->cols)
        return TT_OK;
    if (p->lds != p->ldd || p->src_stride != p->dst_stride)
        return tt__fail(TT_E_INVALID,
                        "in place, lds (%lld) and ldd (%lld) must be the same, and so must the strides",
                        (long long)p->lds, (long long)p->ldd);
    return TT_OK;
}

/* Fills in all defaults except `align`. */
static tt_status fill_in(tt_problem *p) {
    if (p->rows <= 0 || p->cols <= 0)
        return tt__fail(TT_E_INVALID, "%lld x %lld: rows and cols must be at least 1", (long long)p->rows,
                        (long long)p->cols);
    p->elem_size = p->elem_size ? p->elem_size : 4;
    if (!tt__power_of_two_to_16(p->elem_size))
        return tt__fail(TT_E_INVALID, "elem_size is %d bytes: it must be 1, 2, 4, 8 or 16", p->elem_size);
    p->lds = p->lds ? p->lds : p->cols;
    p->ldd = p->ldd ? p->ldd : p->in_place && p->rows == p->cols ? p->lds : p->rows;
    p->batch = p->batch ? p->batch : 1;
    TT_TRY(check_pitch("lds", p->lds, p->cols, "a source row"));
    TT_TRY(check_pitch("ldd", p->ldd, p->rows, "a destination row"));
    if (p->batch < 1)
        return tt__fail(TT_E_INVALID, "batch is %lld: it must be at least 1", (long long)p->batch);
    if (p->lds > TT__ELEMENTS_MAX / p->rows || p->ldd > TT__ELEMENTS_MAX / p->cols ||
        p->rows * p->lds > TT__ELEMENTS_MAX / p->batch || p->cols * p->ldd > TT__ELEMENTS_MAX / p->batch)
        return tt__fail(TT_E_INVALID,
                        "%lld x %lld (lds %lld, ldd %lld, batch %lld): more than 2^%d elements, the limit",
                        (long long)p->rows, (long long)p->cols, (long long)p->lds, (long long)p->ldd,
                        (long long)p->batch, TT__ELEMENTS_MAX_LOG2);
    /* With one matrix, strides have no meaning. They are reset, so that equal problems compare equal. */
    p->src_stride = p->src_stride && p->batch > 1 ? p->src_stride : p->rows * p->lds;
    p->dst_stride = p->dst_stride && p->batch > 1 ? p->dst_stride : p->cols * p->ldd;
    TT_TRY(check_stride("src_stride", p->src_stride, (p->rows - 1) * p->lds + p->cols, p->batch, "source"));
    TT_TRY(
        check_stride("dst_stride", p->dst_stride, (p->cols - 1) * p->ldd + p->rows, p->batch, "destination"));
    return p->in_place ? check_in_place(p) : TT_OK;
}

tt_status tt__matrix_problem(tt__problem *out, const tt_problem *in) {
    tt_problem p = *in;
    *out = (tt__problem){.warm = in->warm != 0, .in_graph = in->in_graph != 0, .n = VARIABLES};
    TT_TRY(fill_in(&p));
    if (in->align && !tt__power_of_two_to_16(in->align))
        return tt__fail(TT_E_INVALID, "align is %d bytes: it must be 1, 2, 4, 8, 16, or 0 for the default",
                        in->align);
    p.align = most_align(&p);
    tt__copy(out->op, sizeof out->op,
             !p.in_place        ? "transpose"
             : p.rows == p.cols ? "transpose_in_place"
                                : "transpose_rect_in_place");
    for (size_t i = 0; i < VARIABLES; i++) {
        memcpy(out->settings[i].name, fields[i].name, sizeof fields[i].name);
        out->settings[i].number = field_of(&p, i);
    }
    out->moved_bytes = 2.0 * (double)p.rows * (double)p.cols * (double)p.batch * p.elem_size;
    return in->align ? tt__matrix_align(out, in->align) : TT_OK;
}

/* An element that is not aligned to its size would be an error on the device, and the context unusable. */
tt_status tt__matrix_align(tt__problem *p, int align) {
    int elem_size = tt__problem_elem_size(p);
    if (align < elem_size)
        return tt__fail(
            TT_E_INVALID,
            "elements of %d bytes lie at multiples of %d: arrays aligned to %d cannot be transposed",
            elem_size, elem_size, align);
    if (align < tt__problem_align(p))
        tt__problem_set(p, "align", align);
    return TT_OK;
}

bool tt__is_in_place(const char *op) {
    return strcmp(op, "transpose_in_place") == 0 || strcmp(op, "transpose_rect_in_place") == 0;
}

tt_problem tt__matrix_of(const tt__problem *p) {
    tt_problem out = TT_INIT(tt_problem);
    out.in_place = tt__is_in_place(p->op);
    if (!out.in_place && strcmp(p->op, "transpose") != 0)
        return out;
    for (size_t i = 0; i < VARIABLES; i++) {
        char *at = (char *)&out + fields[i].at;
        int64_t value = tt__problem_number(p, fields[i].name, 0);
        if (fields[i].is_int)
            *(int *)at = (int)value;
        else
            *(int64_t *)at = value;
    }
    out.warm = p->warm;
    out.in_graph = p->in_graph;
    return out;
}

/* ---- Permutations ----------------------------------------------------------------------------------------
 */

/* Problems of `copy` and `transpose` where these do the same, otherwise of `permute`. The variables of the
 * latter are those of kernel_templates/ops/permute.cu, in the same order. */

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

static tt_status check_permutation(const tt_permutation *p) {
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
    TT_TRY(check_permutation(p));
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
    return out->n <= TT__PERMUTE_DIMS
               ? TT_OK
               : tt__fail(TT_E_UNSUPPORTED,
                          "%d dimensions remain after merging, and %d is the limit: permute in two steps",
                          out->n, TT__PERMUTE_DIMS);
}

/* Rows become columns, in each matrix of a batch. Matrices of a batch lie one behind the other. */
static bool is_transpose(const tt__canonical *c) {
    return (c->n == 2 || c->n == 3) && c->stride[1] == 1 &&
           (c->n == 2 || c->stride[2] >= (c->dim[0] - 1) * c->stride[0] + c->dim[1]);
}

static tt_status as_transpose(tt__problem *out, const tt__canonical *c, const tt_permutation *p) {
    tt_problem m = TT_INIT(tt_problem);
    m.rows = c->dim[0];
    m.cols = c->dim[1];
    m.lds = c->stride[0];
    m.warm = p->warm;
    m.in_graph = p->in_graph;
    m.elem_size = c->elem_size;
    m.batch = c->n == 3 ? c->dim[2] : 1;
    m.src_stride = c->n == 3 ? c->stride[2] : 0;
    TT_TRY(tt__matrix_problem(out, &m));
    return tt__matrix_align(out, c->align);
}

tt_status tt__permutation_problem(tt__problem *out, const tt_permutation *p, int align) {
    tt__canonical c;
    tt__problem copy;
    TT_TRY(tt__permutation_canonical(&c, p, align));
    if (is_transpose(&c))
        return as_transpose(out, &c, p);
    *out = (tt__problem){.warm = p->warm != 0, .in_graph = p->in_graph != 0};
    tt__problem_permute(out, c.n, c.dim, c.stride, c.elem_size, c.align);
    /* `copy` asks for aligned addresses, and less than 2^42 bytes. `permute` takes the rest. */
    if (c.n == 1 && c.stride[0] == 1 && c.align == 16 && tt__problem_copy(&copy, out))
        *out = copy;
    return TT_OK;
}

/* ---- Questions -------------------------------------------------------------------------------------------
 */

static tt_status of_kernel(tt__question *out, const tt_problem *p) {
    const tt__template *t = p->kernel->t;
    TT_TRY(no_matrix(p, t->kernel, "`values`"));
    out->templates = &p->kernel->set;
    return tt__operation_problem(&out->problem, t->own, t->op, p->values);
}

static tt_status of_operation(tt__question *out, tt_ctx *ctx, const tt_problem *p) {
    const tt__operation *op;
    TT_TRY(no_matrix(p, p->op, "`values`"));
    TT_TRY(tt__operation_builtin(&op, p->op));
    out->templates = &ctx->templates;
    return tt__operation_problem(&out->problem, op, p->op, p->values);
}

static tt_status of_permutation(tt__question *out, tt_ctx *ctx, const tt_problem *p) {
    tt_permutation full;
    TT_TRY(no_matrix(p, "a permutation", "tt_permutation"));
    if (p->op || p->kernel || p->values)
        return tt__fail(TT_E_INVALID, "a permutation has neither op nor kernel nor values: leave %s out",
                        p->op       ? p->op
                        : p->kernel ? "the kernel"
                                    : p->values);
    TT_TRY(TT__SIZED_IN(&full, p->permutation, 0, tt_permutation));
    out->templates = &ctx->templates;
    return tt__permutation_problem(&out->problem, &full, full.align ? full.align : 16);
}

tt_status tt__check_not_forked(const tt_ctx *ctx) {
    if (tt__store_forked(ctx->store))
        return tt__fail(TT_E_INVALID, "the context was opened before this process was forked, and serves the "
                                      "parent only: start the process anew (in Python: multiprocessing with "
                                      "\"spawn\")");
    return TT_OK;
}

tt_status tt__question_of(tt__question *out, tt_ctx *ctx, const tt_problem *in) {
    tt_problem p;
    tt_status status = TT_OK;
    if (!ctx)
        return tt__fail(TT_E_INVALID, "the context is NULL: tt_open makes one");
    TT_TRY(tt__check_not_forked(ctx));
    TT_TRY(TT__SIZED_IN(&p, in, 0, tt_problem));
    if (p.kernel && (p.op || p.kernel->ctx != ctx))
        return tt__fail(TT_E_INVALID, "kernel %s: %s", p.kernel->t->kernel,
                        p.op ? "leave `op` out, the kernel says it" : "it was opened with another context");
    if (p.permutation) {
        status = of_permutation(out, ctx, &p);
    } else if (p.kernel) {
        status = of_kernel(out, &p);
    } else if (p.op) {
        status = of_operation(out, ctx, &p);
    } else if (p.values) {
        status =
            tt__fail(TT_E_INVALID, "values is \"%.80s\", but no `op` or `kernel` says of what", p.values);
    } else {
        out->templates = &ctx->templates;
        status = tt__matrix_problem(&out->problem, &p);
    }
    if (status != TT_OK)
        return status;
    out->problem.warm |= p.warm != 0;
    out->problem.in_graph |= p.in_graph != 0;
    out->scratch = p.scratch;
    return TT_OK;
}

tt_status tt_best(tt_choice *out, tt_ctx *ctx, const tt_problem *problem) {
    tt__question q;
    tt_choice choice;
    TT_TRY(tt__sized_check(out, "tt_choice"));
    tt_status status = tt__question_of(&q, ctx, problem);
    if (status == TT_OK)
        status = tt__best(&choice, ctx, q.templates, &q.problem);
    if (status != TT_OK)
        choice = (tt_choice){0};
    tt__sized_out(out, &choice, sizeof choice);
    return status;
}

tt_status tt__no_kernel(void) {
    return tt__fail(TT_E_INVALID, "the kernel is NULL: tt_kernel_open makes one");
}
