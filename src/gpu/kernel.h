/* A loaded kernel, or several that are launched one after the other: cubin to functions to launch. The cubin
 * is loaded as a CUlibrary, which the driver itself takes into contexts and out of them: unlike a module it
 * can be unloaded whatever context is current, and after its own is gone. The functions are those of the
 * context that was current at loading. */
#ifndef TT_GPU_KERNEL_H
#define TT_GPU_KERNEL_H

#include "gpu/driver.h"

typedef struct tt__kernel {
    CUlibrary library;
    int n_passes;
    CUfunction fns[TT__PASSES_MAX];
    unsigned
        shared_bytes[TT__PASSES_MAX]; /* dynamic, that each has been allowed beyond what every kernel is */
    int regs;                         /* per thread, of the pass that takes most */
    int static_shared_bytes;          /* likewise */
} tt__kernel;

/* Loads the cubin and takes the functions of the launch's passes, allowing each its dynamic shared memory.
 * TT_E_CUDA (or TT_E_NO_MEMORY) if the driver refuses, and TT_E_TEMPLATE if a pass has arguments that are not
 * those of its function, in number and bytes, where the driver can tell and the text is not ours; nothing
 * stays loaded then. */
tt_status tt__kernel_load(tt__kernel *out, const tt__driver *cu, const void *cubin,
                          const tt__symbols *symbols, const tt__launch *launch);
/* Allows a loaded kernel more, if this launch takes more. */
tt_status tt__kernel_allow_shared(tt__kernel *kernel, const tt__driver *cu, const tt__symbols *symbols,
                                  const tt__launch *launch);
void tt__kernel_unload(tt__kernel *kernel, const tt__driver *cu);

/* One argument of a launch, as the kernel takes it. */
typedef union tt__arg_value {
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
} tt__arg_value;

/* The arguments that stay the same from launch to launch; those of operands are left alone. */
void tt__kernel_constants(tt__arg_value out[TT__ARGS_MAX], const tt__launch *launch);

/* Enqueues one pass: early, where it says so and the driver can. args[i] is the address of the i-th argument.
 */
CUresult tt__pass_launch(const tt__pass *pass, const tt__driver *cu, CUfunction fn, void **args,
                         CUstream stream);

/* Enqueues the launch, all passes. operands[i] is the address of the i-th operand's value: of a CUdeviceptr,
 * or of a scalar of its type. All are read before it returns. */
CUresult tt__kernel_launch(const tt__kernel *kernel, const tt__driver *cu, const tt__launch *launch,
                           void *const *operands, CUstream stream);
/* The same with the constants at hand, for a launch that is repeated. */
CUresult tt__kernel_launch_with(const tt__kernel *kernel, const tt__driver *cu, const tt__launch *launch,
                                const tt__arg_value *constants, void *const *operands, CUstream stream);

#endif
