/* Timing on the device, with a pair of events for each launch. Cold: before each launch the L2 cache is
 * flushed (a write of twice its size), the launch is alone in its stream, and buffers rotate over several
 * places in memory. Warm: all launches use the same buffers, in short trains whose first launch is not
 * timed. A gate holds launches back until all are queued, so that host latency is not measured. Runs in
 * the GPU worker. */
#ifndef TT_TUNER_MEASURE_H
#define TT_TUNER_MEASURE_H

#include "tuner/checker.h"

/* Launches in a warm train. On an H200 nine launches queued after one make it up to 0.8 us longer, a
 * single one up to 0.4 us. So cold launches are alone, and trains are short. */
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

/* Device memory that the pool needs, in bytes. It takes more where more than twice as much is free. */
int64_t tt__pool_bytes(const tt__workload *w, const tt__gpu *gpu);

/* Allocates; tt__pool_fill gives the arrays the verifier's data, and random bits elsewhere. Both borrow
 * the verifier until the pool is closed. */
tt_status tt__pool_open(tt__bench_pool *pool, const tt__verifier *verifier, const tt__gpu *gpu);
tt_status tt__pool_fill(tt__bench_pool *pool);
void tt__pool_close(tt__bench_pool *pool);

/* Enqueues one launch. operands[i] is the address of the i-th operand's value, as in tt__kernel_launch. */
typedef CUresult (*tt__enqueue_fn)(const void *self, void *const *operands, CUstream stream);

/* Something to time: one launch of a loaded kernel. If `enqueue` is set, it is a call of a library, a graph,
 * or what else that function enqueues. */
typedef struct tt__timed {
    const tt__kernel *kernel;
    const tt__launch *launch;
    int offset; /* bytes from a multiple of 16 to where its arrays begin */
    bool
        copy; /* it is a copy of src to dst, which the workload has a place for, if its operands are others */
    tt__enqueue_fn enqueue; /* NULL: the kernel is launched */
    const void *self;       /* of `enqueue` */
    int n_enqueued;         /* kernels that `enqueue` puts into the queue: their places in a warm train */
} tt__timed;

/* Launches n things in order, each on the next slot, and gives their times in us. `together`: they are
 * compared, so all get the same place if slots are places, and the next call the next one. *failed is set
 * (and no time is valid) if the driver refuses a launch; TT_E_CUDA if the context is lost. */
tt_status tt__pool_time(tt__bench_pool *pool, const tt__timed *things, int n, bool together, float *us,
                        CUresult *failed);

#endif
