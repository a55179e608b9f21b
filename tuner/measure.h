/*
 * Timing on the device. Cold: each launch gets buffers that no recent launch has touched, from a pool of more
 * than five times the L2 cache, and stands behind another kernel that has written some of the cache. Warm:
 * every launch gets the same buffers, behind one that is not timed. A few launches at a time are queued
 * behind a gate and timed by a pair of events each, so that the host's launch latency stays outside. Lives in
 * the GPU worker.
 */
#ifndef TT_TUNER_MEASURE_H
#define TT_TUNER_MEASURE_H

#include "tuner/verify.h"

enum { TT__BATCH_MAX = 32 };

typedef struct tt__bench_pool {
    const tt__driver *cu;
    CUstream stream;
    const tt__verifier *verifier; /* whose operands these are */
    CUdeviceptr base;
    size_t bytes, stride;             /* a slot has a place for each buffer */
    size_t offsets[TT__OPERANDS_MAX]; /* of the buffers */
    size_t n_slots, next;
    size_t copies, copy_stride; /* where the slots of the copy begin, if it has its own; [src][dst] */
    size_t n_copies, next_copy;
    bool warm;
    bool renews; /* there is an `inout`, which every launch gets as it was; of a matrix the values do not
                    matter */
    size_t stirs, stir_bytes, n_stirs, next_stir; /* where what is written before each cold launch lies */
    CUevent events[2 * TT__BATCH_MAX];
    volatile uint32_t *gate; /* NULL: the driver has no stream memory operations */
    CUdeviceptr gate_device;
} tt__bench_pool;

/* Device memory that the pool for this workload takes on this GPU, in bytes. */
int64_t tt__pool_bytes(const tt__workload *w, const tt__gpu *gpu);

/* Allocates; tt__pool_fill makes the arrays hold what the verifier's do, and random bits where that is of no
 * account. Both borrow the verifier until the pool is closed. */
tt_status tt__pool_open(tt__bench_pool *pool, const tt__verifier *verifier, const tt__gpu *gpu);
tt_status tt__pool_fill(tt__bench_pool *pool);
void tt__pool_close(tt__bench_pool *pool);

/* Something to time: one launch of a loaded kernel. */
typedef struct tt__timed {
    const tt__kernel *kernel;
    const tt__launch *launch;
    int align; /* what its arrays are aligned to, and no more, up to 16 */
    bool
        copy; /* it is a copy of src to dst, which the workload has a place for, if its operands are others */
} tt__timed;

/* Launches n things in order, each on the next slot, and gives the time of each in us.
 * *failed is set (and no time is of use) if the driver refuses a launch; TT_E_CUDA if the context is lost. */
tt_status tt__pool_time(tt__bench_pool *pool, const tt__timed *things, int n, float *us, CUresult *failed);

#endif
