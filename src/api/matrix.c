/*
 * Matrices as problems of the built-in transposes. The variables are those of
 * kernel_templates/ops/transpose.cu, in the same order; a test compares the two.
 */
#include "api/matrix.h"

#include "kernel/space/config.h"

#include <string.h>

/* The fields of a matrix in tt_problem. All but the last are variables, of the same names. */
static const struct {
    const char *name;
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

tt_status tt__matrix_none(const tt_problem *p, const char *name) {
    for (size_t i = 0; i < FIELDS; i++)
        if (field_of(p, i))
            return tt__fail(TT_E_INVALID, "%s is %lld in a problem of %s: say it in `values`", fields[i].name,
                            (long long)field_of(p, i), name);
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
    *out = (tt__problem){.warm = in->warm != 0, .n = VARIABLES};
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
        tt__copy(out->settings[i].name, TT__NAME_MAX, fields[i].name);
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

tt_problem tt__matrix_of(const tt__problem *p) {
    tt_problem out = TT_INIT(tt_problem);
    out.in_place = strcmp(p->op, "transpose_in_place") == 0 || strcmp(p->op, "transpose_rect_in_place") == 0;
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
    return out;
}
