/* A loaded "cubin" and its functions. */
#ifndef HOSTCUDA_MODULE_H
#define HOSTCUDA_MODULE_H

#include "driver.h"
#include "hostcuda_env.h"

struct CUfunc_st {
    CUmodule module;
    const hostcuda_kernel *kernel;
    hostcuda_faults faults;
    long n_reads, n_since;           /* launches since the host read results for the n-th time */
    double n_timed_runs, n_prepared; /* launches right after an event, and right before one */
    bool has_run;
    int elem_size;                   /* -DELEM_SIZE, else 1 */
    int shared_limit;                /* dynamic, bytes */
    bool takes_large_clusters;       /* of more than 8 blocks */
    char name[128];
    CUfunction next;
};

struct CUmod_st {
    CUcontext ctx;
    void *library;
    int fd; /* of the file the library was loaded from: its number is part of the name it is known by */
    hostcuda_env *env;
    char *facts;
    size_t facts_bytes;
    uint32_t cc;
    long place; /* where its code lies: the first that was free */
    CUfunction functions;
    CUmodule next; /* that is open */
};

/* In the current context; the lock is held. CUDA_ERROR_INVALID_IMAGE and the like. */
CUresult hostcuda_module_open(CUmodule *out, const void *image);
void hostcuda_module_close(CUmodule m);
/* NULL if the module has none of that name. */
CUfunction hostcuda_module_function(CUmodule m, const char *name);

#endif
