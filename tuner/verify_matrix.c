/* What is known of matrices beyond any task: the CPU can say what an element must be,
 * and places have rows. */
#include <stdio.h>

#include "tuner/verify.h"

enum { CHECKED_BY_CPU = 64 };

/* The operand of that name; every matrix task has dst. */
static int operand(const tt__verifier *v, const char *name) {
    for (int i = 0; i < v->work.n; i++)
        if (strcmp(v->work.arrays[i].name, name) == 0)
            return i;
    return -1;
}

/* The byte at an offset of an area that tt_fill made. */
static unsigned char filled_byte(uint64_t offset, uint32_t seed) {
    return (unsigned char)(tt__mix(offset / 4, seed) >> 8 * (offset % 4));
}

tt_status tt__verify_matrix_reference(tt__verifier *v) {
    const tt__problem *p = &v->problem;
    const int dst = operand(v, "dst"), src = operand(v, "src") < 0 ? dst : operand(v, "src");
    const uint64_t e = (uint64_t)p->elem_size;
    for (int i = 0; i < CHECKED_BY_CPU; i++) {
        /* The corners first, then anywhere. */
        uint64_t r =
            i < 4 ? (i & 1 ? (uint64_t)p->rows - 1 : 0) : tt__mix((uint64_t)i, 7) % (uint64_t)p->rows;
        uint64_t c =
            i < 4 ? (i & 2 ? (uint64_t)p->cols - 1 : 0) : tt__mix((uint64_t)i, 8) % (uint64_t)p->cols;
        uint64_t b = i < 4 ? (uint64_t)i % (uint64_t)p->batch : tt__mix((uint64_t)i, 9) % (uint64_t)p->batch;
        uint64_t to = b * (uint64_t)p->dst_stride +
                      (tt__dst_transposed(p) ? c * (uint64_t)p->ldd + r : r * (uint64_t)p->ldd + c);
        uint64_t from = b * (uint64_t)p->src_stride + r * (uint64_t)p->lds + c;
        unsigned char got[16], want[16];
        CUdeviceptr element = v->areas[dst].reference + v->areas[dst].head + to * e;
        TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(got, element, e), "reading the reference"));
        for (uint64_t k = 0; k < e; k++)
            want[k] = filled_byte(v->areas[src].head + from * e + k, TT__SEED_INPUT);
        if (memcmp(got, want, e))
            return tt__fail(TT_E_INTERNAL,
                            "the reference is wrong at row %llu, column %llu: the GPU, its driver "
                            "or NVRTC miscomputes a plain copy loop",
                            (unsigned long long)r, (unsigned long long)c);
    }
    return TT_OK;
}

void tt__explain_matrix(const tt__verifier *v, int64_t at, char *out, size_t size) {
    const tt__problem *p = &v->problem;
    int64_t element = at / p->elem_size, matrix = p->batch > 1 ? element / p->dst_stride : 0;
    int64_t row = (element - matrix * p->dst_stride) / p->ldd,
            col = (element - matrix * p->dst_stride) % p->ldd;
    if (col >= tt__dst_cols(p) || row >= tt__dst_rows(p))
        snprintf(out, size, "wrote between the rows of the destination, behind row %lld of matrix %lld",
                 (long long)row, (long long)matrix);
    else
        snprintf(out, size, "dst[%lld][%lld] of matrix %lld", (long long)row, (long long)col,
                 (long long)matrix);
}
