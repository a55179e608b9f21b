/*
 * Loads and launches kernels.
 */
#include "gpu/kernel.h"

#include "code/cubin.h"
#include "code/lowered.h"
#include "gpu/fit.h"

static tt_status allow_shared(tt__kernel *kernel, const tt__driver *cu, const tt__symbols *symbols,
                              const tt__launch *launch) {
    enum { SHARED_WITHOUT_ASKING = 48 * 1024 }; /* static and dynamic */
    for (int i = 0; i < launch->n_passes; i++) {
        unsigned bytes = 0;
        for (int k = 0; k < launch->n_passes; k++) /* passes may share a function */
            if (kernel->fns[k] == kernel->fns[i] && launch->passes[k].shared_bytes > bytes)
                bytes = launch->passes[k].shared_bytes;
        const unsigned all = bytes + (unsigned)kernel->static_shared_bytes;
        if (all <= SHARED_WITHOUT_ASKING || bytes <= kernel->shared_bytes[i])
            continue;
        TT_TRY(tt__cu_check(cu->cuFuncSetAttribute(
                                kernel->fns[i], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes),
                            "%s: %u bytes of dynamic shared memory", symbols->name[i], bytes));
        kernel->shared_bytes[i] = bytes;
    }
    return TT_OK;
}

/* Clusters of more than 8 blocks do not run on every device that has clusters, so the driver wants to be
 * asked for them. */
static tt_status allow_cluster(const tt__driver *cu, CUfunction fn, const char *name, const tt__pass *pass) {
    enum { PORTABLE_MAX = 8 };
    if (tt__pass_cluster(pass) <= PORTABLE_MAX)
        return TT_OK;
    return tt__cu_check(cu->cuFuncSetAttribute(fn, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
                        "%s: clusters of %u blocks", name, tt__pass_cluster(pass));
}

/* Blocks that wait for each other must all be on the device. How many fit depends on the compiled code. */
static tt_status check_cooperative(const tt__driver *cu, CUfunction fn, const char *name,
                                   const tt__pass *pass) {
    CUdevice device;
    int each = 0, n = 0;
    if (!pass->cooperative || pass->off)
        return TT_OK;
    TT_TRY(tt__cu_check(cu->cuCtxGetDevice(&device), "cuCtxGetDevice"));
    TT_TRY(tt__cu_check(cu->cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
                        "cuDeviceGetAttribute"));
    TT_TRY(tt__cu_check(cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(
                            &each, fn, (int)tt__pass_threads(pass), pass->shared_bytes),
                        "cuOccupancyMaxActiveBlocksPerMultiprocessor (%s)", name));
    if (tt__pass_blocks(pass) <= (double)each * n)
        return TT_OK;
    return tt__fail(
        TT_E_UNSUPPORTED,
        "%s is launched with %.0f blocks that wait for each other (`launch cooperative`), and the "
        "GPU holds %d of them at once: %d on each of %d SMs",
        name, tt__pass_blocks(pass), each * n, each, n);
}

tt_status tt__kernel_allow(tt__kernel *kernel, const tt__driver *cu, const tt__symbols *symbols,
                           const tt__launch *launch) {
    TT_TRY(allow_shared(kernel, cu, symbols, launch));
    for (int i = 0; i < launch->n_passes; i++) {
        TT_TRY(allow_cluster(cu, kernel->fns[i], symbols->name[i], &launch->passes[i]));
        TT_TRY(check_cooperative(cu, kernel->fns[i], symbols->name[i], &launch->passes[i]));
    }
    return TT_OK;
}

static tt_status take_function(tt__kernel *out, const tt__driver *cu, const char *name, int i) {
    int regs, shared;
    TT_TRY(tt__cu_check(cu->cuLibraryGetKernel(&out->handles[i], out->library, name),
                        "cuLibraryGetKernel (%s)", name));
    TT_TRY(tt__cu_check(cu->cuKernelGetFunction(&out->fns[i], out->handles[i]), "cuKernelGetFunction (%s)",
                        name));
    /* This call also loads a lazily loaded function, so that no timing includes it. */
    TT_TRY(tt__cu_check(cu->cuFuncGetAttribute(&regs, CU_FUNC_ATTRIBUTE_NUM_REGS, out->fns[i]),
                        "cuFuncGetAttribute (%s)", name));
    TT_TRY(tt__cu_check(cu->cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, out->fns[i]),
                        "cuFuncGetAttribute (%s)", name));
    out->regs = regs > out->regs ? regs : out->regs;
    out->static_shared_bytes = shared > out->static_shared_bytes ? shared : out->static_shared_bytes;
    return TT_OK;
}

/* At a launch the driver reads as many bytes through each argument's address as the kernel's parameter has.
 * If a template's `args` do not match, it reads past the end. The number of parameters is found by asking
 * until the driver refuses. Tools such as compute-sanitizer report that refusal, so only foreign files are
 * checked. */
static tt_status check_arguments(const tt__driver *cu, CUfunction fn, const char *name,
                                 const tt__launch *launch, int s) {
    enum { PARAMETERS_MAX = 4096 };
    size_t n = 0, offset, size;
    CUresult r = CUDA_SUCCESS;
    if (!cu->cuFuncGetParamInfo)
        return TT_OK;
    for (; n < PARAMETERS_MAX && (r = cu->cuFuncGetParamInfo(fn, n, &offset, &size)) == CUDA_SUCCESS; n++)
        TT_TRY(tt__fit_parameter(name, launch, s, n, size));
    /* the driver's way to say that there are no more */
    return r == CUDA_ERROR_INVALID_VALUE ? tt__fit_count(name, launch, s, n) : TT_OK;
}

/* Which clusters the code asks for by __cluster_dims__. */
static tt_status check_cluster(const tt__driver *cu, CUfunction fn, const char *name,
                               const tt__launch *launch, int s) {
    static const CUfunction_attribute dims[] = {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
                                                CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
                                                CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH};
    unsigned has[3] = {0};
    for (int i = 0; i < 3; i++) {
        int blocks = 0;
        TT_TRY(tt__cu_check(cu->cuFuncGetAttribute(&blocks, dims[i], fn), "cuFuncGetAttribute (%s)", name));
        has[i] = (unsigned)blocks;
    }
    return tt__fit_cluster(name, launch, s, has);
}

tt_status tt__kernel_load(tt__kernel *out, const tt__driver *cu, const void *cubin, size_t n,
                          const tt__symbols *symbols, const tt__launch *launch) {
    *out = (tt__kernel){.n_passes = launch->n_passes};
    TT_TRY(tt__cu_check(cu->cuLibraryLoadData(&out->library, cubin, NULL, NULL, 0, NULL, NULL, 0),
                        "cuLibraryLoadData (%s)", symbols->name[0]));
    tt_status status;
    tt__cubin_arrays(&out->arrays, cubin, n);
    TT_GOTO(tt__str_check(&out->arrays));
    for (int i = 0; i < out->n_passes; i++) {
        TT_GOTO(take_function(out, cu, tt__lowered_name(cubin, n, symbols->name[i]), i));
        if (symbols->foreign && launch->passes[i].n_args) /* a kernel without arguments is not launched */
            TT_GOTO(check_arguments(cu, out->fns[i], symbols->name[i], launch, i));
        if (symbols->foreign && !launch->passes[i].off)
            TT_GOTO(check_cluster(cu, out->fns[i], symbols->name[i], launch, i));
    }
    TT_GOTO(tt__kernel_allow(out, cu, symbols, launch));
    return TT_OK;
out:
    tt__kernel_unload(out, cu);
    return status;
}

/* Launches of one function share its limit, so it must never fall: what the driver allows counts. */
tt_status tt__kernel_share(tt__kernel *out, const tt__kernel *loaded, const tt__driver *cu,
                           const tt__symbols *symbols, const tt__launch *launch) {
    *out = *loaded;
    for (int i = 0; i < out->n_passes; i++) {
        int allowed;
        TT_TRY(tt__cu_check(cu->cuKernelGetFunction(&out->fns[i], out->handles[i]),
                            "cuKernelGetFunction (%s)", symbols->name[i]));
        TT_TRY(tt__cu_check(
            cu->cuFuncGetAttribute(&allowed, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, out->fns[i]),
            "cuFuncGetAttribute (%s)", symbols->name[i]));
        out->shared_bytes[i] = (unsigned)allowed;
    }
    return tt__kernel_allow(out, cu, symbols, launch);
}

tt_status tt__kernel_constant(CUdeviceptr *out, const tt__kernel *kernel, const tt__driver *cu,
                              const char *name, size_t bytes) {
    size_t has = 0;
    *out = 0;
    CUresult r = cu->cuLibraryGetGlobal(out, &has, kernel->library, name);
    if (r == CUDA_ERROR_NOT_FOUND) {
        const char *mangled = tt__cubin_array(&kernel->arrays, name, NULL);
        const char *other = mangled ? tt__cubin_array(&kernel->arrays, name, mangled) : NULL;
        if (!mangled)
            return TT_OK;
        if (other)
            return tt__fail(TT_E_TEMPLATE,
                            "the code has two constants %s, %s and %s: give them different names", name,
                            mangled, other);
        r = cu->cuLibraryGetGlobal(out, &has, kernel->library, mangled);
        if (r == CUDA_ERROR_NOT_FOUND)
            return tt__fail(
                TT_E_TEMPLATE,
                "C++ calls the constant %s %s, and the driver does not find it: declare it outside "
                "of namespaces",
                name, mangled);
    }
    TT_TRY(tt__cu_check(r, "cuLibraryGetGlobal (%s)", name));
    return tt__fit_constant(name, has, bytes);
}

void tt__kernel_unload(tt__kernel *kernel, const tt__driver *cu) {
    if (kernel->library)
        cu->cuLibraryUnload(kernel->library);
    tt__str_free(&kernel->arrays);
    *kernel = (tt__kernel){0};
}

void tt__kernel_constants(tt__arg_value out[TT__ARGS_MAX], const tt__launch *launch) {
    const tt__pass *last = &launch->passes[launch->n_passes - 1];
    for (int i = 0; i < last->first_arg + last->n_args; i++) {
        const tt__arg *arg = &launch->args[i];
        out[i] = (tt__arg_value){0}; /* clear the bytes that the type does not use */
        tt__type_store(&out[i], (tt__type)arg->type, arg->i, arg->f);
    }
}

enum { ATTRIBUTES_MAX = 3 };

/* Fills in the attributes of a launch that is no ordinary one; returns how many. */
static unsigned take_attributes(CUlaunchAttribute out[ATTRIBUTES_MAX], const tt__pass *pass,
                                const tt__driver *cu) {
    unsigned n = 0;
    if (pass->early && cu->launches_early)
        out[n++] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                       .value = {.programmaticStreamSerializationAllowed = 1}};
    if (pass->cooperative)
        out[n++] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value = {.cooperative = 1}};
    if (pass->cluster[0])
        out[n++] = (CUlaunchAttribute){
            .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
            .value = {.clusterDim = {pass->cluster[0], pass->cluster[1], pass->cluster[2]}}};
    return n;
}

static CUresult launch_with(const tt__driver *cu, CUfunction fn, const tt__pass *pass, CUstream stream,
                            void **args, CUlaunchAttribute *attributes, unsigned n) {
    const CUlaunchConfig config = {.gridDimX = pass->grid[0],
                                   .gridDimY = pass->grid[1],
                                   .gridDimZ = pass->grid[2],
                                   .blockDimX = pass->block[0],
                                   .blockDimY = pass->block[1],
                                   .blockDimZ = pass->block[2],
                                   .sharedMemBytes = pass->shared_bytes,
                                   .hStream = stream,
                                   .attrs = attributes,
                                   .numAttrs = n};
    return cu->cuLaunchKernelEx(&config, fn, args, NULL);
}

CUresult tt__pass_launch(const tt__pass *pass, const tt__driver *cu, CUfunction fn, void **args,
                         CUstream stream) {
    if (pass->early || pass->cooperative || pass->cluster[0]) {
        CUlaunchAttribute attributes[ATTRIBUTES_MAX];
        const unsigned n = take_attributes(attributes, pass, cu);
        if (n)
            return launch_with(cu, fn, pass, stream, args, attributes, n);
    }
    return cu->cuLaunchKernel(fn, pass->grid[0], pass->grid[1], pass->grid[2], pass->block[0], pass->block[1],
                              pass->block[2], pass->shared_bytes, stream, args, NULL);
}

CUresult tt__kernel_launch_with(const tt__kernel *kernel, const tt__driver *cu, const tt__launch *launch,
                                const tt__arg_value *constants, void *const *operands, CUstream stream) {
    CUresult r = CUDA_SUCCESS;
    uint8_t at[TT__OPERAND_ERROR + 1]; /* where each operand is by now */
    for (int i = 0; i <= TT__OPERAND_ERROR && launch->swaps; i++)
        at[i] = (uint8_t)i;
    for (int s = 0; s < launch->n_passes; s++) {
        const tt__pass *pass = &launch->passes[s];
        for (int turn = pass->off ? -1 : pass->repeats; turn >= 0 && r == CUDA_SUCCESS; turn--) {
            void *args[TT__ARGS_MAX];
            for (int i = 0; i < pass->n_args; i++) {
                const tt__arg *arg = &launch->args[pass->first_arg + i];
                args[i] = arg->by_value                ? (void *)(uintptr_t)&launch->args[arg->i]
                          : arg->type != TT__TYPE_NONE ? (void *)(uintptr_t)&constants[pass->first_arg + i]
                          : launch->swaps              ? operands[at[arg->operand]]
                                                       : operands[arg->operand];
            }
            r = tt__pass_launch(pass, cu, kernel->fns[s], args, stream);
            if (pass->swap[0] != pass->swap[1]) {
                uint8_t held = at[pass->swap[0]];
                at[pass->swap[0]] = at[pass->swap[1]];
                at[pass->swap[1]] = held;
            }
        }
    }
    return r;
}

CUresult tt__kernel_launch(const tt__kernel *kernel, const tt__driver *cu, const tt__launch *launch,
                           void *const *operands, CUstream stream) {
    tt__arg_value constants[TT__ARGS_MAX];
    tt__kernel_constants(constants, launch);
    return tt__kernel_launch_with(kernel, cu, launch, constants, operands, stream);
}
