/*
 * Times launches on the device, each with a pair of events. Runs in the GPU worker.
 *
 * Cold: before each launch the L2 cache is flushed (a write of twice its size). The launch is alone in its
 * stream, and buffers rotate over several places in memory.
 * Warm: all launches use the same buffers, in short trains. The first launch of a train is not timed.
 * In a graph: a sample is a CUDA graph of many launches, divided by their number. Cold: the cache is flushed
 * before the graph, and each launch in it has a slot of its own. Warm: all use the same buffers.
 *
 * A gate holds launches back until all are queued, so that host latency is not measured.
 */
#ifndef TT_TUNER_MEASURE_MEASURE_H
#define TT_TUNER_MEASURE_MEASURE_H

#include "tuner/measure/verify.h"

/* Launches in a warm train. On an H200, nine queued launches make the first one up to 0.8 us longer, and one
 * queued launch up to 0.4 us. So cold launches are alone, and trains are short. */
enum { TT__TRAIN_MAX = 8 };

/* Bytes written before each cold launch, in sizes of the L2 cache. */
enum { TT__FLUSH_TIMES = 2 };

/* Arrays of the same size that launches use in turn. */
typedef struct tt__slots {
    size_t n, bytes, stride, next;
    bool are_places; /* each slot is larger than the cache; several exist because the place in memory matters
                      */
} tt__slots;

/* The slots for arrays of so many bytes in total. Small ones have enough for the cache, and up to 32 in an
 * eighth of `room` bytes; large ones have up to four in `room`. */
tt__slots tt__slots_for(size_t bytes, const tt__gpu *gpu, bool warm, size_t room);

typedef struct tt__bench_pool {
    const tt__driver *cu;
    CUstream stream;
    tt__verifier *verifier; /* the verifier with the operands */
    CUdeviceptr base;
    size_t bytes, slots_at, flush_at; /* copies begin at offset 0 */
    size_t offsets[TT__OPERANDS_MAX]; /* of the buffers in a slot */
    tt__slots slots, copies;          /* copies: for a copy with buffers of its own, [src][dst] */
    bool stays;                       /* all launches use the same slot for now */
    bool strict; /* each launch finds what the first one found: no results, and no shared memory of others */
    size_t last_slot; /* of the launch before */
    uint64_t gaps;    /* checksum of what no array covers */
    bool warm, in_graph;
    bool in_place; /* there is an `inout` */
    bool renews;   /* there is an `inout` that must be restored before each launch; a matrix's values do not
                      matter */
    size_t flush_bytes; /* written before each cold launch */
    CUevent events[2 * TT__TRAIN_MAX];
    volatile uint32_t *gate; /* NULL: the driver has no stream memory operations */
    CUdeviceptr gate_device;
} tt__bench_pool;

/* Bytes of device memory that the pool needs. It takes more if there is room for more places. */
int64_t tt__pool_bytes(const tt__workload *w, const tt__gpu *gpu);

/* tt__pool_open allocates. tt__pool_fill copies the verifier's data to the arrays, and random bits elsewhere.
 * The verifier is borrowed until the pool is closed. */
tt_status tt__pool_open(tt__bench_pool *pool, tt__verifier *verifier, const tt__gpu *gpu);
tt_status tt__pool_fill(tt__bench_pool *pool);
void tt__pool_close(tt__bench_pool *pool);

/* Variables that lie side by side. */
typedef struct tt__variable_range {
    CUdeviceptr at, kept;
    size_t bytes;
} tt__variable_range;

/* The __device__ variables of loaded code, and what was in them then. CUDA's headers bring a thousand. */
typedef struct tt__variables {
    size_t n;
    tt__variable_range *items;
    CUdeviceptr kept; /* 0: there are none */
} tt__variables;

/* Copies the variables that the driver finds. TT_E_NO_MEMORY, TT_E_CUDA: nothing is to be freed. */
tt_status tt__variables_keep(tt__variables *out, const tt__driver *cu, const tt__kernel *kernel,
                             const void *cubin, size_t n);
void tt__variables_free(tt__variables *v, const tt__driver *cu);

/* Enqueues one launch. operands[i] is the address of operand i's value, as in tt__kernel_launch. */
typedef CUresult (*tt__enqueue_fn)(const void *self, void *const *operands, CUstream stream);

/* A graph of launches of one thing. Zero-initialise it, and give it to no other thing before it was freed. */
typedef struct tt__launch_graph {
    CUgraphExec exec; /* NULL: not made yet, or n is 1 */
    int n;            /* number of launches; 1: they are so long that there is no graph; 0: not chosen yet */
    float alone_us;   /* what a launch takes by itself */
} tt__launch_graph;

/* What one sample takes, if a launch takes so long: the launches of a graph, if the problem is in one. */
double tt__sample_us(double launch_us, bool in_graph);

void tt__launch_graph_free(tt__launch_graph *graph, const tt__driver *cu);

/* Something to time: one launch of a loaded kernel or, with `enqueue`, whatever that function enqueues (a
 * library call, a graph). */
typedef struct tt__timed {
    const tt__kernel *kernel;
    const tt__launch *launch;
    int offset;             /* from a multiple of 16 to the start of its arrays */
    bool copy;              /* it copies src to dst, with buffers of its own if the operation has others */
    tt__enqueue_fn enqueue; /* NULL: launch the kernel */
    const void *self;       /* of `enqueue` */
    const tt__variables *variables; /* that get back their values before each strict launch; may be NULL */
    int n_enqueued;                 /* number of kernels that `enqueue` queues */
    tt__launch_graph *graph;        /* if the problem is in a graph: made when the thing is first timed */
} tt__timed;

/* Launches n things in order, each in the next slot, and returns their times in us. `together`: they are
 * compared, so all use the same place if slots are places, and the next call uses the next one. If the driver
 * refuses a launch, *failed is set and no time is valid. TT_E_CUDA: the context is lost. */
tt_status tt__pool_time(tt__bench_pool *pool, const tt__timed *things, int n, bool together, float *us,
                        CUresult *failed);

/* Queues n launches of a thing as they are timed, but without events. NULL: only what comes before each. */
tt_status tt__pool_repeat(tt__bench_pool *pool, const tt__timed *thing, int n);
/* Strict from now on, or no longer: no slot holds results then, and all is guarded. */
tt_status tt__pool_strict(tt__bench_pool *pool, bool strict);
/* Fills what no array covers with random bits. Has all of that been kept since? A kernel must not remember
 * there what it computed before. */
tt_status tt__pool_guard(tt__bench_pool *pool);
tt_status tt__pool_guarded(const tt__bench_pool *pool, bool *kept);
/* Launches a thing once as it is timed, or its graph, without events, and verifies what it leaves there, as
 * tt__verify does. Inputs are among it, if a user's kernel is verified. */
tt_status tt__pool_verify(tt__bench_pool *pool, const tt__timed *thing, tt__trial *trial);
/* Does anything come before each launch: a flush, or the contents of buffers? */
bool tt__pool_prepares(const tt__bench_pool *pool);

/* Called just before a launch and when it has ended. */
typedef struct tt__around {
    tt_status (*begin)(void *user);
    tt_status (*end)(void *user);
    void *user;
} tt__around;

/* Launches a thing once, in the first slot, with nothing else on the device between `begin` and `end`. Cold:
 * the L2 cache holds none of its data and nothing that is still to be written to memory, so that counters
 * show the launch alone. TT_E_CUDA: the context is lost. */
tt_status tt__pool_launch(tt__bench_pool *pool, const tt__timed *thing, const tt__around *around);

/* ---- The clocks of a GPU while it measures: samples at different clocks cannot be compared ---- */

typedef struct tt__gpu_clocks {
    int ordinal;
    unsigned usual_mhz, now_mhz; /* of the SMs; 0: unknown */
    double read_s, cost_s;       /* time of the last reading, and its duration */
    int n_falls;                 /* number of falls */
    unsigned lowest_mhz;         /* lowest clock of a fall */
    char why[48];                /* NVML's reason for it, or "" */
} tt__gpu_clocks;

/* Have the clocks stayed up since the last call? They are read every few milliseconds at most. True if they
 * cannot be read. */
bool tt__gpu_clocks_steady(tt__gpu_clocks *c);

/* Waits up to a fifth of a second for the clocks to recover. Then the current clocks count as usual. */
void tt__gpu_clocks_recover(tt__gpu_clocks *c);

/* Have the clocks stopped rising? Use it while a GPU that was idle is kept busy. */
bool tt__gpu_clocks_settled(tt__gpu_clocks *c);

#endif
