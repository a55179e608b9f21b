/*
 * A loaded launch: the functions of a cubin, one for each pass. The cubin is loaded as a CUlibrary, which the
 * driver itself adds to contexts. Unlike a module, it can be unloaded in any context, and after its own
 * context is gone. The functions belong to the context that was current at loading.
 */
#ifndef TT_GPU_KERNEL_H
#define TT_GPU_KERNEL_H

#include "base/str.h"
#include "gpu/driver.h"

typedef struct tt__kernel {
    CUlibrary library;
    int n_passes;
    CUkernel handles[TT__PASSES_MAX]; /* of no context */
    CUfunction fns[TT__PASSES_MAX];
    unsigned shared_bytes[TT__PASSES_MAX]; /* dynamic shared memory that each function is allowed to use; 0:
                                              the default limit */
    int regs;                              /* per thread, the largest of all passes */
    int static_shared_bytes;               /* likewise */
    tt__str arrays; /* names of arrays that C++ changed, as tt__cubin_arrays gives them */
} tt__kernel;

/* Loads the cubin, takes the functions of the launch's passes, and allows each its dynamic shared memory.
 * TT_E_CUDA or TT_E_NO_MEMORY: the driver refused. TT_E_TEMPLATE: `args` of a foreign file do not match the
 * function's parameters in number or size, if the driver can tell. After an error nothing stays loaded. */
tt_status tt__kernel_load(tt__kernel *out, const tt__driver *cu, const void *cubin, size_t n,
                          const tt__symbols *symbols, const tt__launch *launch);
/* The same code in the current context, for another launch of the same passes. It borrows the library and
 * the names from `loaded`, and is not to be unloaded. One thread at a time may do so with a library. */
tt_status tt__kernel_share(tt__kernel *out, const tt__kernel *loaded, const tt__driver *cu,
                           const tt__symbols *symbols, const tt__launch *launch);
/* Prepares the functions for this launch: raises the allowed dynamic shared memory and size of clusters.
 * TT_E_UNSUPPORTED: the blocks of a cooperative launch do not fit on the device at once. */
tt_status tt__kernel_allow(tt__kernel *kernel, const tt__driver *cu, const tt__symbols *symbols,
                           const tt__launch *launch);
/* The address of a __constant__ array of the code in the current context; 0: the compiled code does not use
 * it. It may be in a namespace. TT_E_TEMPLATE if it has another size, or cannot be told or found. */
tt_status tt__kernel_constant(CUdeviceptr *out, const tt__kernel *kernel, const tt__driver *cu,
                              const char *name, size_t bytes);
void tt__kernel_unload(tt__kernel *kernel, const tt__driver *cu);

/* The value of one argument. */
typedef union tt__arg_value {
    uint8_t u8;
    uint16_t u16;
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
} tt__arg_value;

/* Fills in the arguments that are the same in every launch, and leaves operands unchanged. */
void tt__kernel_constants(tt__arg_value out[TT__ARGS_MAX], const tt__launch *launch);

/* Enqueues one pass. It begins early if the pass allows it and the driver can. args[i] is the address of argument i. */
CUresult tt__pass_launch(const tt__pass *pass, const tt__driver *cu, CUfunction fn, void **args,
                         CUstream stream);

/* Enqueues all passes. operands[i] is the address of operand i's value: a CUdeviceptr, or a scalar of its
 * type. The values are read before it returns. */
CUresult tt__kernel_launch(const tt__kernel *kernel, const tt__driver *cu, const tt__launch *launch,
                           void *const *operands, CUstream stream);
/* The same with prepared constants, for a launch that is repeated. */
CUresult tt__kernel_launch_with(const tt__kernel *kernel, const tt__driver *cu, const tt__launch *launch,
                                const tt__arg_value *constants, void *const *operands, CUstream stream);

/* Does the kernel of this pass in a cubin fit its annotations: name, parameters and launch bounds?
 * TT_E_TEMPLATE says what does not. TT_OK if the bytes are no cubin. */
tt_status tt__fit_cubin(const void *cubin, size_t size, const char *kernel, const tt__launch *launch,
                        int pass);

/* Does a constant, which has so many bytes in the code, have `bytes` by its line? TT_E_TEMPLATE as above. */
tt_status tt__fit_constant(const char *name, size_t has, size_t bytes);

#endif
