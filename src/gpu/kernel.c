/* Loading and launching one kernel. */
#include "gpu/kernel.h"

tt_status tt__kernel_allow_shared(tt__kernel *kernel, const tt__driver *cu, const char *name,
                                  unsigned shared_bytes) {
    enum { SHARED_WITHOUT_ASKING = 48 * 1024 };
    if (shared_bytes <= SHARED_WITHOUT_ASKING || shared_bytes <= kernel->shared_bytes)
        return TT_OK;
    TT_TRY(tt__cu_check(cu->cuFuncSetAttribute(kernel->fn, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                               (int)shared_bytes),
                        "%s: %u bytes of dynamic shared memory", name, shared_bytes));
    kernel->shared_bytes = shared_bytes;
    return TT_OK;
}

tt_status tt__kernel_load(tt__kernel *out, const tt__driver *cu, const void *cubin, const char *name,
                          unsigned shared_bytes) {
    *out = (tt__kernel){0};
    TT_TRY(tt__cu_check(cu->cuModuleLoadData(&out->module, cubin), "cuModuleLoadData (%s)", name));
    tt_status status;
    TT_GOTO(tt__cu_check(cu->cuModuleGetFunction(&out->fn, out->module, name), "cuModuleGetFunction (%s)", name));
    /* Asking for an attribute also makes a lazily loaded function real, before anything is timed. */
    TT_GOTO(tt__cu_check(cu->cuFuncGetAttribute(&out->regs, CU_FUNC_ATTRIBUTE_NUM_REGS, out->fn),
                         "cuFuncGetAttribute (%s)", name));
    TT_GOTO(tt__cu_check(
        cu->cuFuncGetAttribute(&out->static_shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, out->fn),
        "cuFuncGetAttribute (%s)", name));
    TT_GOTO(tt__kernel_allow_shared(out, cu, name, shared_bytes));
    return TT_OK;
out:
    tt__kernel_unload(out, cu);
    return status;
}

void tt__kernel_unload(tt__kernel *kernel, const tt__driver *cu) {
    if (kernel->module)
        cu->cuModuleUnload(kernel->module);
    *kernel = (tt__kernel){0};
}

CUresult tt__kernel_launch(const tt__kernel *kernel, const tt__driver *cu, const tt__launch *launch,
                           CUdeviceptr dst, CUdeviceptr src, CUstream stream) {
    union {
        CUdeviceptr ptr;
        int32_t i32;
        int64_t i64;
        float f32;
    } value[TT__ARGS_MAX];
    void *args[TT__ARGS_MAX];
    for (int i = 0; i < launch->n_args; i++) {
        const tt__arg *arg = &launch->args[i];
        args[i] = &value[i];
        switch (arg->kind) {
        case TT__ARG_DST:
            value[i].ptr = dst;
            break;
        case TT__ARG_SRC:
            value[i].ptr = src;
            break;
        case TT__ARG_I32:
            value[i].i32 = (int32_t)arg->i;
            break;
        case TT__ARG_I64:
            value[i].i64 = arg->i;
            break;
        case TT__ARG_F32:
            value[i].f32 = (float)arg->f;
            break;
        }
    }
    return cu->cuLaunchKernel(kernel->fn, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
                              launch->block[1], launch->block[2], launch->shared_bytes, stream, args, NULL);
}
