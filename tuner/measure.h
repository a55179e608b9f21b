/*
 * Timing on the device, by a pair of events for each launch. Cold: each gets buffers that no recent launch
 * has touched, at several places of the GPU's memory because what these are worth differs by some percent,
 * and stands behind a kernel that writes twice the L2 cache, and in front of nobody. Warm: every launch gets
 * the same buffers, in short trains whose first is not timed. All wait behind a gate until they are queued,
 * so that the host's launch latency stays outside. Lives in the GPU worker.
 */
#ifndef TT_TUNER_MEASURE_H
#define TT_TUNER_MEASURE_H

#include "tuner/verify.h"

/* Launches in a warm train. With nine others queued behind it a launch takes up to 0.8 us longer, whatever
 * its size, and with a single one it may take 0.4 us (H200). So cold ones are alone, and trains are short. */
enum { TT__TRAIN_MAX = 8 };

/* L2 caches that are written before each cold launch. */
enum { TT__FLUSH_TIMES = 2 };

/* Arrays of the same size that launches use in turn. */
typedef struct tt__slots {
    size_t n, bytes, stride, next;
    bool are_places; /* each is its own flush: there are several only because it matters where one lies */
} tt__slots;

/* For arrays of so many bytes in all, of which more places than one may take `room` bytes at most. */
tt__slots tt__slots_for(size_t bytes, const tt__gpu *gpu, bool warm, size_t room);

typedef struct tt__bench_pool {
    const tt__driver *cu;
    CUstream stream;
    const tt__verifier *verifier; /* whose operands these are */
    CUdeviceptr base;
    size_t bytes, slots_at, flush_at; /* copies begin at 0 */
    size_t offsets[TT__OPERANDS_MAX]; /* of the buffers within a slot */
    tt__slots slots, copies;          /* copies: of the copy, if it has buffers of its own; [src][dst] */
    bool stays;                       /* everything gets the same slot for now */
    bool warm;
    bool renews; /* there is an `inout`, which every launch gets as it was; of a matrix the values do not
                    matter */
    size_t flush_bytes; /* what is written before each cold launch */
    CUevent events[2 * TT__TRAIN_MAX];
    volatile uint32_t *gate; /* NULL: the driver has no stream memory operations */
    CUdeviceptr gate_device;
} tt__bench_pool;

/* Device memory that the pool for this workload needs on this GPU, in bytes. It takes more where there is
 * more than twice as much. */
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
    int offset; /* bytes from a multiple of 16 to where its arrays begin */
    bool
        copy; /* it is a copy of src to dst, which the workload has a place for, if its operands are others */
} tt__timed;

/* Launches n things in order, each on the next slot, and gives the time of each in us. `together`: they are
 * to be compared, so that where slots are places all get the same one, and those of the next call the next.
 * *failed is set (and no time is of use) if the driver refuses a launch; TT_E_CUDA if the context is lost. */
tt_status tt__pool_time(tt__bench_pool *pool, const tt__timed *things, int n, bool together, float *us,
                        CUresult *failed);

#endif
