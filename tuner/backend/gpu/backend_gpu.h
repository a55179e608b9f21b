/* The backend that measures on a GPU. */
#ifndef TT_TUNER_BACKEND_GPU_BACKEND_GPU_H
#define TT_TUNER_BACKEND_GPU_BACKEND_GPU_H

#include "tuner/backend/backend.h"
#include "tuner/farm/cubins.h"

typedef struct tt__backend_gpu_opts {
    const int *devices; /* n_devices GPUs that are alike; none: GPU 0 */
    size_t n_devices;
    int jobs;
    bool fresh_data; /* inputs hold other numbers in each run */
    double trial_timeout_s, compile_timeout_s;
    double needed_timeout_s; /* for compiling defaults and references; 0: as for others */
    tt__store *store;        /* it provides cubins, and gets new ones */
    tt__trace *trace;        /* may be NULL */
    tt__expected *expected;  /* work for idle compilers; may be NULL */
    /* Called while CUDA starts, with the probable name of the GPU ("": unknown). True: it is known, *gpu has
     * its description, and `expected` has work for it. May be NULL. */
    bool (*while_cuda_starts)(void *starting, const char *name, tt__gpu *gpu);
    void *starting; /* for it */
    int (*should_stop)(void *user);
    void (*on_message)(void *user, const char *line); /* may be NULL */
    void *user;
} tt__backend_gpu_opts;

/* CUDA devices, each used by a GPU worker, and a farm of compile workers. */
tt_status tt__backend_gpu(tt__backend **out, const tt__backend_gpu_opts *opts);

#endif
