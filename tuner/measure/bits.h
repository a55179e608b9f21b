/*
 * Do two configurations compute the same bits? One launch on one set of inputs suggests it (tt__trial.bits).
 * This looks closer: at several launches on several inputs, and at how far two results are apart.
 */
#ifndef TT_TUNER_MEASURE_BITS_H
#define TT_TUNER_MEASURE_BITS_H

#include "tuner/measure/verify.h"

typedef struct tt__bits_ask {
    bool keeps, compares; /* keeps the results on the first inputs; compares with those kept before */
    bool first_only;      /* only on the first inputs */
    int64_t counts[TT__OPERANDS_MAX]; /* of each result only so many elements; 0: all */
} tt__bits_ask;

typedef struct tt__bits_found {
    int64_t bits;        /* the class on all inputs, which no tt__trial.bits equals; UNSTABLE, or EXACT */
    int64_t n, n_differ; /* elements compared, and those that differ; n 0: none were */
    double ulps; /* by so many units in the last place at most; 0: they are no floating-point numbers */
} tt__bits_found;

/* Results on the first inputs, one after the other. Free `bytes`. */
typedef struct tt__kept_bits {
    size_t n;
    unsigned char *bytes;
} tt__kept_bits;

/* Launches a loaded kernel several times. TT_E_CUDA: the context is no longer usable. */
tt_status tt__bits_find(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch,
                        const tt__bits_ask *ask, tt__kept_bits *kept, tt__bits_found *out);

#endif
