/*
 * Verifies kernels on the device, in the GPU worker. verify.c says what is found and why.
 */
#ifndef TT_TUNER_MEASURE_VERIFY_H
#define TT_TUNER_MEASURE_VERIFY_H

#include "tuner/measure/verify_data.h"

/* Runs the kernel once and compares. The trial gets the status ok, launch_error or wrong_result, and a
 * reason. If launch_us is not NULL, it gets the time of this launch; 0: the host may have delayed it.
 * TT_E_CUDA: the context is no longer usable. */
tt_status tt__verify(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch, tt__trial *trial,
                     double *launch_us);
/* The two parts of that around the launch: queues restoring `inout` and poisoning results; compares what is
 * there then. */
CUresult tt__verify_poison(tt__verifier *v);
/* Queues filling the shared memory of all multiprocessors with random bits. */
CUresult tt__verify_soil(tt__verifier *v);
tt_status tt__verify_results(tt__verifier *v, tt__trial *trial);
/* Runs the kernel of `verify` on the results. The trial is a wrong_result if the error exceeds the limit.
 * TT_E_CUDA as above. */
tt_status tt__verify_error(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch,
                           tt__trial *trial);
/* Runs it on what is there before a kernel has run. If it accepts that, the trial is a wrong_result. */
tt_status tt__verify_refuses(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch,
                             tt__trial *trial);
/* TT_E_CUDA if something wrote over what results are compared with; `reason` says what failed before. */
tt_status tt__verify_kept(tt__verifier *v, const char *reason);

/* ---- Do two configurations compute the same bits? ---- */

/* One launch on one set of inputs suggests it (tt__trial.bits). This looks closer: at several launches on
 * several inputs, and at how far two results are apart. */
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
