/* Loading and launching one kernel. */
#include "gpu/kernel.h"

tt_status tt__kernel_load(tt__kernel *out, const tt__driver *cu, const void *cubin, const char *name,
                          unsigned shared_bytes) {
    enum { SHARED_WITHOUT_ASKING = 48 * 1024 };
    CUkernel handle;
    *out = (tt__kernel){0};
    TT_TRY(tt__cu_check(cu->cuLibraryLoadData(&out->library, cubin, NULL, NULL, 0, NULL, NULL, 0),
                        "cuLibraryLoadData (%s)", name));
    tt_status status;
    TT_GOTO(tt__cu_check(cu->cuLibraryGetKernel(&handle, out->library, name), "cuLibraryGetKernel (%s)", name));
    TT_GOTO(tt__cu_check(cu->cuKernelGetFunction(&out->fn, handle), "cuKernelGetFunction (%s)", name));
    /* Asking for an attribute also makes a lazily loaded function real, before anything is timed. */
    TT_GOTO(tt__cu_check(cu->cuFuncGetAttribute(&out->regs, CU_FUNC_ATTRIBUTE_NUM_REGS, out->fn),
                         "cuFuncGetAttribute (%s)", name));
    TT_GOTO(tt__cu_check(
        cu->cuFuncGetAttribute(&out->static_shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, out->fn),
        "cuFuncGetAttribute (%s)", name));
    if (shared_bytes > SHARED_WITHOUT_ASKING)
        TT_GOTO(tt__cu_check(cu->cuFuncSetAttribute(out->fn, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                    (int)shared_bytes),
                             "%s: %u bytes of dynamic shared memory", name, shared_bytes));
    return TT_OK;
out:
    tt__kernel_unload(out, cu);
    return status;
}

void tt__kernel_unload(tt__kernel *kernel, const tt__driver *cu) {
    if (kernel->library)
        cu->cuLibraryUnload(kernel->library);
    *kernel = (tt__kernel){0};
}

void tt__kernel_constants(tt__arg_value out[TT__ARGS_MAX], const tt__launch *launch) {
    for (int i = 0; i < launch->n_args; i++) {
        const tt__arg *arg = &launch->args[i];
        if (arg->kind == TT__ARG_I32)
            out[i].i32 = (int32_t)arg->i;
        else if (arg->kind == TT__ARG_F32)
            out[i].f32 = (float)arg->f;
        else
            out[i].i64 = arg->i;
    }
}

CUresult tt__kernel_launch_with(const tt__kernel *kernel, const tt__driver *cu, const tt__launch *launch,
                                const tt__arg_value *constants, CUdeviceptr dst, CUdeviceptr src,
                                CUstream stream) {
    void *args[TT__ARGS_MAX];
    for (int i = 0; i < launch->n_args; i++) {
        const tt__arg_kind kind = launch->args[i].kind;
        args[i] = kind == TT__ARG_DST   ? (void *)&dst
                  : kind == TT__ARG_SRC ? (void *)&src
                                        : (void *)(uintptr_t)&constants[i];
    }
    return cu->cuLaunchKernel(kernel->fn, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
                              launch->block[1], launch->block[2], launch->shared_bytes, stream, args, NULL);
}

CUresult tt__kernel_launch(const tt__kernel *kernel, const tt__driver *cu, const tt__launch *launch,
                           CUdeviceptr dst, CUdeviceptr src, CUstream stream) {
    tt__arg_value constants[TT__ARGS_MAX];
    tt__kernel_constants(constants, launch);
    return tt__kernel_launch_with(kernel, cu, launch, constants, dst, src, stream);
}
