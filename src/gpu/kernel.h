/* A loaded kernel: cubin to function to launch. The cubin is loaded as a CUlibrary, which the driver itself
 * takes into contexts and out of them: unlike a module it can be unloaded whatever context is current, and
 * after its own is gone. The function is that of the context that was current at loading. */
#ifndef TT_GPU_KERNEL_H
#define TT_GPU_KERNEL_H

#include "gpu/driver.h"

typedef struct tt__kernel {
    CUlibrary library;
    CUfunction fn;
    int regs; /* per thread */
    int static_shared_bytes;
} tt__kernel;

/* Loads the cubin and takes the function, allowing it `shared_bytes` of dynamic shared memory. TT_E_CUDA
 * (or TT_E_NO_MEMORY) if the driver refuses; nothing stays loaded then. */
tt_status tt__kernel_load(tt__kernel *out, const tt__driver *cu, const void *cubin, const char *name,
                          unsigned shared_bytes);
void tt__kernel_unload(tt__kernel *kernel, const tt__driver *cu);

/* One argument of a launch, as the kernel takes it. */
typedef union tt__arg_value {
    int32_t i32;
    int64_t i64;
    float f32;
} tt__arg_value;

/* The arguments that stay the same from launch to launch; those of the two addresses are left alone. */
void tt__kernel_constants(tt__arg_value out[TT__ARGS_MAX], const tt__launch *launch);

/* Enqueues the launch. The arguments are read before it returns. */
CUresult tt__kernel_launch(const tt__kernel *kernel, const tt__driver *cu, const tt__launch *launch,
                           CUdeviceptr dst, CUdeviceptr src, CUstream stream);
/* The same with the constants at hand, for a launch that is repeated. */
CUresult tt__kernel_launch_with(const tt__kernel *kernel, const tt__driver *cu, const tt__launch *launch,
                                const tt__arg_value *constants, CUdeviceptr dst, CUdeviceptr src, CUstream stream);

#endif
