/*
 * The worker that owns the GPU, and what it holds from one request to the next.
 */
#ifndef TT_TUNER_WORKER_GPU_WORKER_H
#define TT_TUNER_WORKER_GPU_WORKER_H

#include "gpu/cupti.h"
#include "gpu/driver.h"
#include "tuner/farm/protocol.h"
#include "tuner/measure/measure.h"
#include "tuner/measure/verify.h"

/* What counts launches with CUPTI. Zero-initialise, then set `ordinal`. It needs no closing: the worker's
 * exit does that. */
typedef struct tt__counting {
    int ordinal;
    tt__cupti *cupti;         /* NULL: not opened yet, or not to be had */
    char why[TT__REASON_MAX]; /* why it is not to be had, or "" */
} tt__counting;

typedef struct tt__gpu_state {
    const tt__driver *cu;
    tt__gpu gpu;
    int ordinal;
    CUcontext context;
    double context_begin_s, context_end_s; /* while it was created; 0: already reported */
    CUstream stream;
    bool open;                    /* the arrays of a problem exist */
    tt__trial_times times;        /* of the current trial */
    tt__kernel kernel;            /* of the last trial */
    tt__kernel reference, verify; /* of the same cubin, if they go with each configuration */
    char key[TT__HASH_SIZE];      /* key of its cubin; "": none */
    tt__str judge;          /* the cubin of `verify`, if that comes with the problem; empty: the trial's */
    tt__launch_graph graph; /* of the current trial */
    tt__verifier verifier;
    tt__verifier second; /* the same problem with other data, for what may win */
    bool has_second;     /* memory has room for it */
    tt__bench_pool pool;
    tt__kept_bits kept; /* of an earlier request for bits */
    tt__gpu_clocks clocks;
    tt__counting counting;
} tt__gpu_state;

/* One launch of a requested configuration. */
static inline tt__timed tt__gpu_timed(const tt__kernel *kernel, const tt__msg_trial *m) {
    return (tt__timed){.kernel = kernel, .launch = &m->launch, .offset = m->offset, .copy = m->copy};
}

/* Times things. If the clocks fall meanwhile, tries again up to twice. */
tt_status tt__gpu_time_steadily(tt__gpu_state *g, const tt__timed *things, int n, bool together, float *us,
                                CUresult *failed);

/* Are results verified with kernels that go with each configuration? Finals do not load them. */
static inline bool tt__gpu_has_own_check(const tt__gpu_state *g) {
    return g->verifier.work.per_config || g->verifier.work.has_verify;
}

/* Verifies where it is timed, and with other data, what was right and screened. A wrong result is the
 * trial's. Nothing is done for launches that take long (50 ms). */
tt_status tt__gpu_verify_again(tt__gpu_state *g, const tt__msg_trial *m, const tt__kernel *kernel,
                               tt__trial *trial);

/* Serves requests until the tuner closes the socket. */
int tt__gpu_worker(int ordinal);

#endif
