/* Filling in a problem's defaults, and the names of trial statuses. */
#include "base/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"

const char *tt__trial_status_name(tt__trial_status s) {
    static const char *const name[] = {"ok",      "compile_error", "launch_error", "wrong_result",
                                       "timeout", "crashed",       "skipped"};
    return (unsigned)s < TT__TRIAL_STATUS_COUNT ? name[s] : "unknown";
}

enum { ELEMENTS_MAX_LOG2 = 44 }; /* 16 T elements: far beyond any memory, safely within 64 bits */
static const int64_t elements_max = INT64_C(1) << ELEMENTS_MAX_LOG2;

/* The largest power of two up to 16 that divides so many elements. */
static int align_of(int64_t elements, int elem_size) {
    int64_t bytes = elements * elem_size;
    int align = 16;
    while (bytes % align)
        align /= 2;
    return align;
}

static int most_align(const tt__problem *p) {
    const int64_t distances[] = {p->lds, p->ldd, p->batch > 1 ? p->src_stride : 0,
                                 p->batch > 1 ? p->dst_stride : 0};
    int most = 16;
    for (size_t i = 0; i < sizeof distances / sizeof *distances; i++) {
        int a = align_of(distances[i], p->elem_size);
        most = a < most ? a : most;
    }
    return most;
}

static tt_status check_shape(const tt__problem *p) {
    const struct {
        const char *name;
        int64_t value, least;
        const char *what;
    } checks[] = {
        {"lds", p->lds, p->cols, "a source row"},
        {"ldd", p->ldd, p->rows, "a destination row"},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (checks[i].value < checks[i].least)
            return tt__fail(TT_E_INVALID, "%s is %lld: %s of %lld elements needs at least that many",
                            checks[i].name, (long long)checks[i].value, checks[i].what,
                            (long long)checks[i].least);
    if (p->batch < 1)
        return tt__fail(TT_E_INVALID, "batch is %lld: it must be at least 1", (long long)p->batch);
    if (p->lds > elements_max / p->rows || p->ldd > elements_max / p->cols ||
        p->rows * p->lds > elements_max / p->batch || p->cols * p->ldd > elements_max / p->batch)
        return tt__fail(TT_E_INVALID, "%lld x %lld x %lld: more than 2^%d elements", (long long)p->batch,
                        (long long)p->rows, (long long)p->cols, ELEMENTS_MAX_LOG2);
    return TT_OK;
}

/* Matrices of a batch must not overlap: a stride is at least a matrix long. */
static tt_status check_strides(const tt__problem *p) {
    int64_t src = (p->rows - 1) * p->lds + p->cols, dst = (p->cols - 1) * p->ldd + p->rows;
    if (p->batch > 1 && (p->src_stride < src || p->src_stride > elements_max / p->batch))
        return tt__fail(TT_E_INVALID, "src_stride is %lld: expected %lld (a source matrix) to 2^%d / batch",
                        (long long)p->src_stride, (long long)src, ELEMENTS_MAX_LOG2);
    if (p->batch > 1 && (p->dst_stride < dst || p->dst_stride > elements_max / p->batch))
        return tt__fail(TT_E_INVALID,
                        "dst_stride is %lld: expected %lld (a destination matrix) to 2^%d / batch",
                        (long long)p->dst_stride, (long long)dst, ELEMENTS_MAX_LOG2);
    return TT_OK;
}

static tt_status check_in_place(const tt__problem *p) {
    if (p->rows != p->cols)
        return tt__fail(TT_E_INVALID, "%lld x %lld cannot be transposed in place: only square matrices can",
                        (long long)p->rows, (long long)p->cols);
    if (p->lds != p->ldd || p->src_stride != p->dst_stride)
        return tt__fail(TT_E_INVALID,
                        "in place, lds (%lld) and ldd (%lld) must be the same, and so must the strides",
                        (long long)p->lds, (long long)p->ldd);
    return TT_OK;
}

tt_status tt__problem_init(tt__problem *out, const tt_problem *in) {
    *out = (tt__problem){0};
    if (!in || in->size != sizeof *in)
        return tt__fail(TT_E_INVALID, "problem: size is %zu, expected %zu (start from TT_INIT(tt_problem))",
                        in ? in->size : 0, sizeof *in);
    if (in->rows <= 0 || in->cols <= 0)
        return tt__fail(TT_E_INVALID, "%lld x %lld: rows and cols must be at least 1", (long long)in->rows,
                        (long long)in->cols);
    int e = in->elem_size ? in->elem_size : 4;
    if (e != 1 && e != 2 && e != 4 && e != 8 && e != 16)
        return tt__fail(TT_E_INVALID, "elem_size is %d bytes: it must be 1, 2, 4, 8 or 16", e);
    static const char *const ops[2][2] = {{"transpose", "transpose" TT__WARM},
                                          {"transpose_in_place", "transpose_in_place" TT__WARM}};
    tt__copy(out->op, sizeof out->op, ops[in->in_place != 0][in->warm != 0]);
    out->rows = in->rows;
    out->cols = in->cols;
    out->elem_size = e;
    out->lds = in->lds ? in->lds : in->cols;
    out->ldd = in->ldd ? in->ldd : in->in_place ? out->lds : in->rows;
    out->batch = in->batch ? in->batch : 1;
    TT_TRY(check_shape(out));
    /* The strides of a single matrix mean nothing, and must not make two problems of one. */
    out->src_stride = in->src_stride && out->batch > 1 ? in->src_stride : out->rows * out->lds;
    out->dst_stride = in->dst_stride && out->batch > 1 ? in->dst_stride : out->cols * out->ldd;
    TT_TRY(check_strides(out));
    if (in->in_place)
        TT_TRY(check_in_place(out));
    int a = in->align;
    if (a != 0 && a != 1 && a != 2 && a != 4 && a != 8 && a != 16)
        return tt__fail(TT_E_INVALID, "align is %d bytes: it must be 1, 2, 4, 8, 16, or 0 for the default",
                        a);
    out->align = most_align(out);
    return a ? tt__problem_align(out, a) : TT_OK;
}

/* A kernel that reads an element elsewhere leaves its context unusable. */
tt_status tt__problem_align(tt__problem *p, int align) {
    if (align < p->elem_size)
        return tt__fail(
            TT_E_INVALID,
            "elements of %d bytes lie at multiples of %d: arrays aligned to %d cannot be transposed",
            p->elem_size, p->elem_size, align);
    p->align = align < p->align ? align : p->align;
    return TT_OK;
}

tt_problem tt__problem_public(const tt__problem *p) {
    tt_problem out = TT_INIT(tt_problem);
    out.rows = p->rows;
    out.cols = p->cols;
    out.lds = p->lds;
    out.ldd = p->ldd;
    out.elem_size = p->elem_size;
    out.align = p->align;
    out.batch = p->batch;
    out.src_stride = p->src_stride;
    out.dst_stride = p->dst_stride;
    out.in_place = tt__in_place(p);
    out.warm = tt__warm(p);
    return out;
}

int tt__base_offset(const tt__problem *p) {
    return p->align < most_align(p) ? p->align : 0;
}

tt__problem tt__problem_copy(const tt__problem *p) {
    tt__problem copy = *p;
    tt__copy(copy.op, sizeof copy.op, tt__warm(p) ? "copy" TT__WARM : "copy");
    copy.lds = copy.ldd = p->cols;
    copy.src_stride = copy.dst_stride = p->rows * p->cols;
    copy.align = 16;
    return copy;
}

double tt__variables_distance(const tt__problem *a, const tt__problem *b) {
    size_t n = 0, m = 0, head;
    const char *x = tt__variables(a, &n), *y = tt__variables(b, &m), *end_x = x + n, *end_y = y + m;
    double far = 0;
    if (!x || !y || x - a->op != y - b->op || strncmp(a->op, b->op, (size_t)(x - a->op)) != 0)
        return INFINITY;
    for (; x < end_x && y < end_y; x++, y++) {
        head = strcspn(x, "=") + 1;
        if (x + head >= end_x || strncmp(x, y, head) != 0)
            return INFINITY;
        double i = strtod(x + head, NULL), k = strtod(y + head, NULL);
        n = strcspn(x, ",/");
        m = strcspn(y, ",/");
        far += i > 0 && k > 0 ? fabs(log2(i / k)) : n != m || strncmp(x, y, n) != 0;
        x += n;
        y += m;
    }
    return x < end_x || y < end_y ? INFINITY : far;
}

char *tt__problem_text(char out[TT__PROBLEM_TEXT_MAX], const tt__problem *p) {
    size_t n, used = 0;
    const char *variables = tt__variables(p, &n);
    if (!variables) {
        snprintf(out, TT__PROBLEM_TEXT_MAX, "%lldx%lld", (long long)p->rows, (long long)p->cols);
        return out;
    }
    for (size_t i = 0; i < n; i++) {
        out[used++] = variables[i];
        if (variables[i] == ',' && used + 2 < TT__PROBLEM_TEXT_MAX)
            out[used++] = ' ';
    }
    tt__copy(out + used, TT__PROBLEM_TEXT_MAX - used, n ? "" : "-");
    return out;
}

bool tt__problem_same(const tt__problem *a, const tt__problem *b) {
    return strcmp(a->op, b->op) == 0 && a->rows == b->rows && a->cols == b->cols && a->lds == b->lds &&
           a->ldd == b->ldd && a->batch == b->batch && a->src_stride == b->src_stride &&
           a->dst_stride == b->dst_stride && a->elem_size == b->elem_size && a->align == b->align;
}
