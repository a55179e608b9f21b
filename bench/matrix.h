/* A matrix with all defaults filled in, and how long its arrays are. */
#ifndef TT_BENCH_MATRIX_H
#define TT_BENCH_MATRIX_H

#include "api/problem.h"

/* Fills in the defaults of *p and makes *out the same problem. TT_E_INVALID if it is none. */
static inline tt_status bench_matrix(tt__problem *out, tt_problem *p) {
    TT_TRY(tt__matrix_problem(out, p));
    *p = tt__matrix_of(out);
    return TT_OK;
}

/* From the first element to the end of the last row. */
static inline int64_t bench_src_bytes(const tt_problem *p) {
    return ((p->batch - 1) * p->src_stride + (p->rows - 1) * p->lds + p->cols) * p->elem_size;
}
static inline int64_t bench_dst_bytes(const tt_problem *p) {
    return ((p->batch - 1) * p->dst_stride + (p->cols - 1) * p->ldd + p->rows) * p->elem_size;
}

#endif
