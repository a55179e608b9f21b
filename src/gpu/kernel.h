/* A loaded kernel: cubin to function to launch, in the CUDA context that is current. */
#ifndef TT_GPU_KERNEL_H
#define TT_GPU_KERNEL_H

#include "gpu/driver.h"

typedef struct tt__kernel {
    CUmodule module;
    CUfunction fn;
    int regs; /* per thread */
    int static_shared_bytes;
    unsigned shared_bytes; /* dynamic, that it has been allowed beyond what every kernel is */
} tt__kernel;

/* Loads the cubin and takes the function, allowing it `shared_bytes` of dynamic shared memory. TT_E_CUDA
 * (or TT_E_NO_MEMORY) if the driver refuses; nothing stays loaded then. */
tt_status tt__kernel_load(tt__kernel *out, const tt__driver *cu, const void *cubin, const char *name,
                          unsigned shared_bytes);
/* Allows a loaded kernel more, if it is more. */
tt_status tt__kernel_allow_shared(tt__kernel *kernel, const tt__driver *cu, const char *name, unsigned shared_bytes);
void tt__kernel_unload(tt__kernel *kernel, const tt__driver *cu);

/* Enqueues the launch. The arguments are read before it returns. */
CUresult tt__kernel_launch(const tt__kernel *kernel, const tt__driver *cu, const tt__launch *launch,
                           CUdeviceptr dst, CUdeviceptr src, CUstream stream);

#endif
