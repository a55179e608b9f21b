/*
 * Loads and launches kernels.
 */
#include "gpu/kernel.h"

#include <string.h>

#include "code/cubin.h"

/* ---- What the driver or a cubin says about a kernel, and its launch */

static const char advice[] = "make `args` name what the kernel takes, in its order";
static const char struct_advice[] = "list its members in their order, with the padding that C++ adds, and "
                                    "arrays number by number, because i32x4 is aligned as int4";

static tt_status fit_parameter(const char *kernel, const tt__launch *launch, int pass, size_t i,
                               size_t bytes) {
    const tt__pass *p = &launch->passes[pass];
    const tt__arg *a = i < (size_t)p->n_args ? &launch->args[p->first_arg + (int)i] : NULL;
    if (!a || bytes == (size_t)a->bytes)
        return TT_OK;
    return tt__fail(TT_E_TEMPLATE,
                    "parameter %zu of %s has %zu bytes, but item %zu of its `args`%s%s%s has %d: %s", i + 1,
                    kernel, bytes, i + 1, a->type == TT__TYPE_NONE ? "" : " (",
                    a->made == TT__MADE_MAP ? "tensormap"
                    : a->by_value           ? "struct"
                                            : tt__types[a->type].name,
                    a->type == TT__TYPE_NONE ? "" : ")", a->bytes,
                    a->by_value && a->made != TT__MADE_MAP ? struct_advice : advice);
}

static tt_status fit_count(const char *kernel, const tt__launch *launch, int pass, size_t n) {
    int wanted = launch->passes[pass].n_args;
    if (n == (size_t)wanted)
        return TT_OK;
    return tt__fail(TT_E_TEMPLATE, "%s has %zu parameter%s, but its `args` has %d item%s: %s", kernel, n,
                    n == 1 ? "" : "s", wanted, wanted == 1 ? "" : "s", advice);
}

tt_status tt__fit_constant(const char *name, size_t has, size_t bytes) {
    return has == bytes
               ? TT_OK
               : tt__fail(TT_E_TEMPLATE,
                          "the constant %s has %zu bytes in the code, but its line says %zu: make the "
                          "array as long as the line says",
                          name, has, bytes);
}

static tt_status fit_block(const tt__cubin_entry *e, const char *kernel, const unsigned block[3]) {
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    bool exact = e->block[0] && memcmp(e->block, block, sizeof e->block) != 0;
    if (exact)
        return tt__fail(TT_E_TEMPLATE, "a block of %s is %ux%ux%u, but __block_size__ allows only %ux%ux%u",
                        kernel, block[0], block[1], block[2], e->block[0], e->block[1], e->block[2]);
    if (e->max_threads && threads > e->max_threads)
        return tt__fail(TT_E_TEMPLATE,
                        "a block of %s has %llu threads, but __launch_bounds__ allows only %llu", kernel,
                        (unsigned long long)threads, (unsigned long long)e->max_threads);
    return TT_OK;
}

static tt_status fit_cluster(const char *kernel, const tt__launch *launch, int pass, const unsigned has[3]) {
    const tt__pass *p = &launch->passes[pass];
    for (int i = 0; i < 3 && has[0]; i++) {
        if (p->cluster[0] && p->cluster[i] != has[i])
            return tt__fail(
                TT_E_TEMPLATE,
                "`cluster` of %s is %u, %u, %u, but __cluster_dims__ in its code says %u, %u, %u: "
                "take one of the two away",
                kernel, p->cluster[0], p->cluster[1], p->cluster[2], has[0], has[1], has[2]);
        if (has[i] && p->grid[i] % has[i])
            return tt__fail(
                TT_E_TEMPLATE,
                "a grid of %s has %ux%ux%u blocks, which is no multiple of its clusters of "
                "%ux%ux%u (__cluster_dims__): round `grid` up, as in 4 * ceil_div(n, 4 * THREADS)",
                kernel, p->grid[0], p->grid[1], p->grid[2], has[0], has[1], has[2]);
    }
    return TT_OK;
}

tt_status tt__fit_cubin(const void *cubin, size_t size, const char *kernel, const tt__launch *launch,
                        int pass) {
    tt__cubin_entry e;
    tt_status status = tt__cubin_entry_read(&e, cubin, size, kernel);
    if (status != TT_OK)
        return status == TT_E_UNSUPPORTED ? TT_OK : status;
    for (int i = 0; i < e.n_parameters && i < TT__ARGS_MAX; i++)
        TT_TRY(fit_parameter(kernel, launch, pass, (size_t)i, e.parameter_bytes[i]));
    if (e.n_parameters >= 0)
        TT_TRY(fit_count(kernel, launch, pass, (size_t)e.n_parameters));
    TT_TRY(fit_cluster(kernel, launch, pass, e.cluster));
    return fit_block(&e, kernel, launch->passes[pass].block);
}

/* ---- Loading and launching */

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
        TT_TRY(fit_parameter(name, launch, s, n, size));
    /* the driver's way to say that there are no more */
    return r == CUDA_ERROR_INVALID_VALUE ? fit_count(name, launch, s, n) : TT_OK;
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
    return fit_cluster(name, launch, s, has);
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

/* ---- Arguments that each launch makes -------------------------------------------------------------------
 */

enum {
    MAP_ALIGN = 64,
    /* Each one is in the memory of a launch, too, with 2 of its arguments at least. */
    MADE_MAX = TT__ARGS_MAX * (int)sizeof(tt__arg) + TT__ARGS_MAX / 2 * MAP_ALIGN +
               TT__ARGS_MAX * (int)sizeof(tt__arg) / (int)sizeof(tt__tensor_map) * TT__MAP_BYTES,
};

/* A launch under way. */
typedef struct course {
    const tt__driver *cu;
    const tt__launch *launch;
    const tt__arg_value *constants;
    void *const *operands;
    uint8_t at[TT__OPERAND_ERROR + 1]; /* where each operand is by now, if any change places */
    tt__arg_value number;              /* of the turn */
    size_t used;
    _Alignas(MAP_ALIGN) unsigned char made[MADE_MAX];
} course;

static void *operand_of(const course *c, int operand) {
    return c->operands[c->launch->swaps ? c->at[operand] : operand];
}

/* Is it the same in each launch, and no address? */
static bool is_known(const tt__arg *arg) {
    return arg->by_value || arg->type != TT__TYPE_NONE;
}

static void *known_arg(const tt__launch *launch, const tt__arg_value *constants, int i) {
    const tt__arg *arg = &launch->args[i];
    return arg->by_value ? (void *)(uintptr_t)&launch->args[arg->i] : (void *)(uintptr_t)&constants[i];
}

static CUtensorMapDataType map_type(tt__type type) {
    static const CUtensorMapDataType by_size[] = {
        [1] = CU_TENSOR_MAP_DATA_TYPE_UINT8,
        [2] = CU_TENSOR_MAP_DATA_TYPE_UINT16,
        [4] = CU_TENSOR_MAP_DATA_TYPE_UINT32,
        [8] = CU_TENSOR_MAP_DATA_TYPE_UINT64,
    };
    return type == TT__TYPE_F16    ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
           : type == TT__TYPE_BF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
           : type == TT__TYPE_F32  ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
           : type == TT__TYPE_F64  ? CU_TENSOR_MAP_DATA_TYPE_FLOAT64
           : type == TT__TYPE_I32  ? CU_TENSOR_MAP_DATA_TYPE_INT32
           : type == TT__TYPE_I64  ? CU_TENSOR_MAP_DATA_TYPE_INT64
                                   : by_size[tt__types[type].size];
}

static CUresult encode_map(CUtensorMap *out, const tt__driver *cu, const tt__tensor_map *m, CUdeviceptr at) {
    static const CUtensorMapSwizzle swizzles[] = {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B,
                                                  CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_NONE,
                                                  CU_TENSOR_MAP_SWIZZLE_128B};
    static const CUtensorMapL2promotion lines[] = {
        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
        CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
        CU_TENSOR_MAP_L2_PROMOTION_L2_256B};
    cuuint64_t dims[TT__RANK_MAX], strides[TT__RANK_MAX] = {0};
    cuuint32_t box[TT__RANK_MAX], steps[TT__RANK_MAX];
    for (int i = 0; i < m->rank; i++) {
        dims[i] = m->dims[i];
        box[i] = m->box[i];
        steps[i] = m->steps[i];
        if (i + 1 < m->rank)
            strides[i] = m->strides[i];
    }
    return cu->cuTensorMapEncodeTiled(
        out, map_type((tt__type)m->type), m->rank, (void *)(uintptr_t)at, dims, strides, box, steps,
        CU_TENSOR_MAP_INTERLEAVE_NONE, swizzles[m->swizzle_bytes / 32], lines[m->l2_bytes / 64],
        m->fills_nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

/* The struct with the addresses and scalars of this launch. */
static void fill_struct(unsigned char *out, const course *c, const tt__arg *arg) {
    const unsigned char *from = (const unsigned char *)&c->launch->args[arg->i];
    tt__place place;
    memcpy(out, from, arg->bytes);
    from += (arg->bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
    for (int i = 0; i < arg->n_places; i++) {
        memcpy(&place, from + (size_t)i * sizeof place, sizeof place);
        memcpy(out + place.at, operand_of(c, place.operand), place.bytes);
    }
}

static CUresult make(void **out, course *c, const tt__arg *arg) {
    unsigned char *at = c->made + c->used;
    CUdeviceptr buffer;
    *out = at;
    if (arg->made == TT__MADE_OF_TURN) {
        *out = &c->number;
        return CUDA_SUCCESS;
    }
    c->used += ((size_t)arg->bytes + MAP_ALIGN - 1) / MAP_ALIGN * MAP_ALIGN;
    if (arg->made == TT__MADE_STRUCT) {
        fill_struct(at, c, arg);
        return CUDA_SUCCESS;
    }
    memcpy(&buffer, operand_of(c, arg->operand), sizeof buffer);
    return encode_map((CUtensorMap *)(void *)at, c->cu,
                      (const tt__tensor_map *)(const void *)&c->launch->args[arg->i], buffer);
}

static CUresult launch_one(course *c, const tt__pass *pass, CUfunction fn, CUstream stream) {
    void *args[TT__ARGS_MAX];
    CUresult r = CUDA_SUCCESS;
    c->used = 0;
    for (int i = 0; i < pass->n_args && r == CUDA_SUCCESS; i++) {
        const tt__arg *arg = &c->launch->args[pass->first_arg + i];
        if (arg->made != TT__MADE_BEFORE)
            r = make(&args[i], c, arg);
        else
            args[i] = is_known(arg) ? known_arg(c->launch, c->constants, pass->first_arg + i)
                                    : operand_of(c, arg->operand);
    }
    if (r == CUDA_SUCCESS)
        r = tt__pass_launch(pass, c->cu, fn, args, stream);
    if (pass->swap[0] != pass->swap[1]) {
        const uint8_t held = c->at[pass->swap[0]];
        c->at[pass->swap[0]] = c->at[pass->swap[1]];
        c->at[pass->swap[1]] = held;
    }
    return r;
}

/* Kept out of line, because its frame is large and most launches need none of it. */
static __attribute__((noinline)) CUresult launch_in_steps(const tt__kernel *kernel, const tt__driver *cu,
                                                          const tt__launch *launch,
                                                          const tt__arg_value *constants,
                                                          void *const *operands, CUstream stream) {
    CUresult r = CUDA_SUCCESS;
    course c; /* most of it is not used by most launches */
    c.cu = cu;
    c.launch = launch;
    c.constants = constants;
    c.operands = operands;
    for (int i = 0; i <= TT__OPERAND_ERROR && launch->swaps; i++)
        c.at[i] = (uint8_t)i;
    for (int s = 0, end; s < launch->n_passes; s = end) {
        const tt__pass *leader = &launch->passes[s];
        int64_t number = leader->from;
        for (end = s + 1; end < launch->n_passes && launch->passes[end].joins;)
            end++;
        for (int turn = leader->off ? -1 : leader->repeats; turn >= 0 && r == CUDA_SUCCESS; turn--) {
            c.number.i64 = number; /* little-endian, so that it is right for shorter types, too */
            for (int k = s; k < end && r == CUDA_SUCCESS; k++)
                if (!launch->passes[k].off)
                    r = launch_one(&c, &launch->passes[k], kernel->fns[k], stream);
            number = turn ? tt__progress_next((tt__progress)leader->progress, number, leader->step) : number;
        }
    }
    return r;
}

CUresult tt__kernel_launch_with(const tt__kernel *kernel, const tt__driver *cu, const tt__launch *launch,
                                const tt__arg_value *constants, void *const *operands, CUstream stream) {
    const tt__pass *pass = launch->passes;
    if (launch->n_passes != 1 || launch->makes || launch->swaps || pass->repeats || pass->off)
        return launch_in_steps(kernel, cu, launch, constants, operands, stream);
    void *args[TT__ARGS_MAX];
    for (int i = 0; i < pass->n_args; i++)
        args[i] = is_known(&launch->args[pass->first_arg + i])
                      ? known_arg(launch, constants, pass->first_arg + i)
                      : operands[launch->args[pass->first_arg + i].operand];
    return tt__pass_launch(pass, cu, kernel->fns[0], args, stream);
}

CUresult tt__kernel_launch(const tt__kernel *kernel, const tt__driver *cu, const tt__launch *launch,
                           void *const *operands, CUstream stream) {
    tt__arg_value constants[TT__ARGS_MAX];
    tt__kernel_constants(constants, launch);
    return tt__kernel_launch_with(kernel, cu, launch, constants, operands, stream);
}
