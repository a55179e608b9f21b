/* Modules, functions and launches, and the faults that befall a kernel at run time. */
#include "driver.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fiber.h"
#include "module.h"
#include "stream.h"

/* The address of the first pointer argument, and the number of bytes from there to the end of its
 * allocation. */
typedef struct target {
    unsigned char *at;
    size_t before, bytes; /* 0: there is none */
} target;

static target find_target(const hostcuda_kernel *k, void **args) {
    for (unsigned i = 0; i < k->n_params; i++) {
        if (!k->params[i].is_pointer)
            continue;
        const CUdeviceptr at = *(CUdeviceptr *)args[i];
        const hostcuda_range r = hostcuda_find(at, 1);
        if (r.bytes)
            return (target){(unsigned char *)(uintptr_t)at, at - r.base, r.bytes - (at - r.base)};
        break;
    }
    return (target){0};
}

/* Flips bits in bytes that the launch has written: in every 64th, or only in the middle one. */
static void spoil(const target *t, const unsigned char *before, bool once) {
    size_t n = 0, seen = 0;
    for (size_t i = 0; i < t->bytes; i++)
        n += t->at[i] != before[i];
    if (n == 0) /* it was all there already */
        t->at[0] ^= 1;
    for (size_t i = 0; i < t->bytes && n > 0; i++)
        if (t->at[i] != before[i]) {
            t->at[i] ^= once ? seen == n / 2 : seen % 64 == 0;
            seen++;
        }
}

static void die(void) {
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
    abort();
}

static CUresult run(CUfunction fn, const hostcuda_geometry *g, void **args) {
    const hostcuda_faults *faults = &fn->faults;
    const target t = find_target(fn->kernel, args);
    const bool is_wrong = faults->on[HOSTCUDA_WRONG], once = faults->on[HOSTCUDA_WRONG_ONCE];
    unsigned char *before = NULL;

    if (faults->on[HOSTCUDA_LAUNCH_ERROR])
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    if (faults->on[HOSTCUDA_CRASH])
        die();
    if (faults->on[HOSTCUDA_ILLEGAL_ADDRESS])
        hostcuda_state.pending = CUDA_ERROR_ILLEGAL_ADDRESS;
    hostcuda_state.is_hung = hostcuda_state.is_hung || faults->on[HOSTCUDA_HANG];
    if (hostcuda_state.pending != CUDA_SUCCESS || hostcuda_state.is_hung)
        return CUDA_SUCCESS;

    /* tt_soil leaves bits in shared memory, where no other kernel finds any here: after the first launch it
     * has no blocks. */
    const unsigned blocks = fn->has_run && strcmp(fn->name, "tt_soil") == 0 ? 0 : g->grid[0];
    fn->has_run = true;
    if ((is_wrong || once) && t.bytes && (before = malloc(t.bytes)))
        memcpy(before, t.at, t.bytes);
    hostcuda_state.pending =
        hostcuda_run_grid(fn->kernel, fn->module->env, (uint3){blocks, g->grid[1], g->grid[2]},
                          (uint3){g->block[0], g->block[1], g->block[2]}, g->shared_bytes, args);
    if (hostcuda_state.pending == CUDA_SUCCESS && !hostcuda_memory_intact())
        hostcuda_state.pending = CUDA_ERROR_ILLEGAL_ADDRESS;
    if (before)
        spoil(&t, before, !is_wrong);
    if (faults->on[HOSTCUDA_OOB] && t.before > 0)
        t.at[-1] ^= 0xFF;
    free(before);
    return CUDA_SUCCESS;
}

/* A guess for the cost model: rows * cols * ELEM_SIZE if the first scalars look like that, or the bytes if
 * there is only one. At most the bytes after the first pointer, which differ from one place of the same data
 * to another, so that a scalar above them, such as a float, is no count. Read and written. */
static double moved_bytes(CUfunction fn, void **args) {
    const hostcuda_kernel *k = fn->kernel;
    const target t = find_target(k, args);
    double guess = 1;
    int n = 0;
    for (unsigned i = 0; i < k->n_params && n < 2; i++) {
        if (k->params[i].is_pointer || (k->params[i].size != 8 && k->params[i].size != 4))
            continue;
        const double count = k->params[i].size == 8 ? (double)*(int64_t *)args[i] : *(int32_t *)args[i];
        if (count > (double)t.bytes)
            continue;
        guess *= count;
        n++;
    }
    guess *= n == 2 ? fn->elem_size : 1;
    return 2 * (n > 0 && guess > 0 && guess < (double)t.bytes ? guess : (double)t.bytes);
}

static CUresult check_geometry(CUfunction fn, const hostcuda_geometry *g) {
    static const unsigned grid_max[] = {2147483647, 65535, 65535}, block_max[] = {1024, 1024, 64};
    unsigned long long threads = 1;
    for (int i = 0; i < 3; i++) {
        REQUIRE(g->grid[i] >= 1 && g->grid[i] <= grid_max[i], CUDA_ERROR_INVALID_VALUE);
        REQUIRE(g->block[i] >= 1 && g->block[i] <= block_max[i], CUDA_ERROR_INVALID_VALUE);
        threads *= g->block[i];
    }
    const unsigned max_threads = fn->kernel->max_threads;
    REQUIRE(threads <= HOSTCUDA_THREADS_MAX, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(max_threads == 0 || threads <= max_threads, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(g->shared_bytes <= (unsigned)fn->shared_limit, CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

/* ---- Launches that are only there to be timed ($HOSTCUDA_EXECUTE) ------------------------------------- */

/* The launch before an event prepares a timed one: it flushes the L2 cache. The next call shows whether it
 * was one, so the launch is held back until then. */
static struct held {
    CUfunction fn; /* NULL: none */
    hostcuda_geometry g;
    unsigned long long args[HOSTCUDA_PARAMS_MAX];
} held;
static CUfunction last; /* launched by the call before */

static bool can_wait(CUfunction fn) {
    for (unsigned i = 0; i < fn->kernel->n_params; i++)
        if (fn->kernel->params[i].size > sizeof held.args[i])
            return false;
    for (size_t i = 0; i < sizeof fn->faults.on / sizeof *fn->faults.on; i++)
        if (fn->faults.on[i])
            return false;
    return true;
}

static void hold(CUfunction fn, const hostcuda_geometry *g, void **args) {
    held.fn = fn;
    held.g = *g;
    for (unsigned i = 0; i < fn->kernel->n_params; i++)
        memcpy(&held.args[i], args[i], fn->kernel->params[i].size);
}

void hostcuda_launch_held(bool before_event) {
    void *args[HOSTCUDA_PARAMS_MAX];
    const CUfunction fn = held.fn;
    if (before_event && last)
        last->n_prepared++;
    held.fn = last = NULL;
    if (!fn || before_event)
        return;
    for (unsigned i = 0; i < fn->kernel->n_params; i++)
        args[i] = &held.args[i];
    run(fn, &held.g, args);
}

/* So many launches whose results the host does not read are a train that measures energy. */
static bool is_in_train(CUfunction fn) {
    enum { LEAST = 32 };
    if (fn->n_reads != hostcuda_state.n_reads || !hostcuda_state.set.counts_energy)
        fn->n_since = 0;
    fn->n_reads = hostcuda_state.n_reads;
    return fn->n_since++ >= LEAST;
}

CUresult hostcuda_launch(CUfunction fn, hostcuda_geometry *g, void **args) {
    const double timed_at_most = hostcuda_state.set.execute;
    const bool is_timed = timed_at_most > 0 && hostcuda_state.after_event;
    CUresult r = CUDA_SUCCESS;
    hostcuda_state.after_event = false;
    hostcuda_launch_held(false); /* of the same graph */
    last = is_timed ? NULL : fn;
    const bool follows = !is_timed && hostcuda_state.module_left_out == fn->module;
    const bool is_left_out = follows || (is_timed && fn->n_timed_runs++ >= timed_at_most);
    hostcuda_state.module_left_out = is_left_out ? fn->module : NULL;
    if (is_left_out || (!is_timed && timed_at_most > 0 && is_in_train(fn)))
        ; /* it only takes time */
    else if (!is_timed && timed_at_most > 0 && fn->n_prepared >= timed_at_most && can_wait(fn))
        hold(fn, g, args);
    else
        r = run(fn, g, args);
    if (r != CUDA_SUCCESS)
        return r;
    g->moved_bytes = moved_bytes(fn, args);
    const double slow = fn->faults.on[HOSTCUDA_SLOW] ? fn->faults.value[HOSTCUDA_SLOW] : 1;
    const double moved = 1 + hostcuda_state.set.moved / 100 * (double)fn->module->place;
    hostcuda_pass(hostcuda_launch_us(g) * slow * moved,
                  fn->faults.on[HOSTCUDA_HUNGRY] ? fn->faults.value[HOSTCUDA_HUNGRY] : 1);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLaunchKernel(CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                               unsigned bz, unsigned shared_bytes, CUstream stream, void **args,
                               void **extra) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(fn && fn->module, CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(fn->module->ctx == hostcuda_context(), CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE(hostcuda_is_stream(stream), CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(!extra, CUDA_ERROR_NOT_SUPPORTED);
    REQUIRE(args || fn->kernel->n_params == 0, CUDA_ERROR_INVALID_VALUE);

    hostcuda_geometry g = {.grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared_bytes = shared_bytes};
    const CUresult r = check_geometry(fn, &g);
    REQUIRE(r == CUDA_SUCCESS, r);
    const CUgraph capture = (uintptr_t)stream > 2 ? stream->capture : NULL;
    return capture ? hostcuda_capture(capture, fn, &g, args) : hostcuda_launch(fn, &g, args);
}

/* A kernel may begin early, which means nothing where kernels run one after the other. A capture takes it
 * since CUDA 12.3. */
static CUresult check_early(const CUlaunchConfig *config, const CUlaunchAttribute *a) {
    enum { EARLY_IN_GRAPHS = 12030 };
    int version;
    CUstreamCaptureStatus status;
    CUresult r = cuStreamIsCapturing(config->hStream, &status);
    REQUIRE(a->value.programmaticStreamSerializationAllowed == 1, CUDA_ERROR_NOT_SUPPORTED);
    REQUIRE(r == CUDA_SUCCESS, r);
    r = cuDriverGetVersion(&version);
    REQUIRE(r == CUDA_SUCCESS && (status == CU_STREAM_CAPTURE_STATUS_NONE || version >= EARLY_IN_GRAPHS),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return CUDA_SUCCESS;
}

/* All blocks must be on the device at once, although they run one after the other here: a kernel cannot wait
 * for them. */
static CUresult check_cooperative(const CUlaunchConfig *config, CUfunction fn) {
    int each, n;
    const unsigned threads = config->blockDimX * config->blockDimY * config->blockDimZ;
    CUresult r = cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, fn, (int)threads, config->sharedMemBytes);
    REQUIRE(r == CUDA_SUCCESS, r);
    r = cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0);
    REQUIRE(r == CUDA_SUCCESS, r);
    REQUIRE((double)config->gridDimX * config->gridDimY * config->gridDimZ <= (double)each * n,
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    return CUDA_SUCCESS;
}

static CUresult check_cluster(const CUlaunchConfig *config, const CUlaunchAttribute *a, CUfunction fn) {
    enum { PORTABLE_MAX = 8, CLUSTER_MAX = 16 };
    const unsigned x = a->value.clusterDim.x, y = a->value.clusterDim.y, z = a->value.clusterDim.z;
    REQUIRE(fn && x && y && z && x * y * z <= (fn->takes_large_clusters ? CLUSTER_MAX : PORTABLE_MAX),
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
    REQUIRE(config->gridDimX % x == 0 && config->gridDimY % y == 0 && config->gridDimZ % z == 0,
            CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction fn, void **args, void **extra) {
    int major;
    REQUIRE(config && (config->attrs || config->numAttrs == 0), CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *a = &config->attrs[i];
        CUresult r = cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
        REQUIRE(r == CUDA_SUCCESS && (major >= 9 || a->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE),
                CUDA_ERROR_NOT_SUPPORTED);
        r = a->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION ? check_early(config, a)
            : a->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && a->value.cooperative == 1
                ? check_cooperative(config, fn)
            : a->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION ? check_cluster(config, a, fn)
                                                             : CUDA_ERROR_NOT_SUPPORTED;
        REQUIRE(r == CUDA_SUCCESS, r);
    }
    return cuLaunchKernel(fn, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
                          config->blockDimY, config->blockDimZ, config->sharedMemBytes, config->hStream, args,
                          extra);
}

/* Notes its arguments for kernels (hostcuda_shim.h), after it has refused what the driver refuses. */
typedef struct noted_map {
    void *at;
    unsigned long long dims[5], strides[4];
    unsigned short box[5];
    unsigned char steps[5], rank, type, swizzle, l2, fill;
} noted_map;

EXPORT CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *at,
                                       const cuuint64_t *dims, const cuuint64_t *strides,
                                       const cuuint32_t *box, const cuuint32_t *steps,
                                       CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                       CUtensorMapL2promotion l2, CUtensorMapFloatOOBfill fill) {
    static const unsigned sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4}; /* in the order of the types */
    static const unsigned swizzle_bytes[] = {0, 32, 64, 128};
    enum { UNIT = 16, BOX_MAX = 256, STEP_MAX = 8 };
    int major;
    CUresult r = cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
    REQUIRE(r == CUDA_SUCCESS && major >= 9, CUDA_ERROR_NOT_SUPPORTED);
    REQUIRE(map && (uintptr_t)map % 64 == 0 && (unsigned)type < sizeof sizes / sizeof *sizes && rank >= 1 &&
                rank <= 5 && (uintptr_t)at % UNIT == 0 && interleave == CU_TENSOR_MAP_INTERLEAVE_NONE &&
                (unsigned)swizzle <= CU_TENSOR_MAP_SWIZZLE_128B,
            CUDA_ERROR_INVALID_VALUE);
    const unsigned size = sizes[type], most = swizzle_bytes[swizzle];
    noted_map noted = {.at = at,
                       .rank = (unsigned char)rank,
                       .type = (unsigned char)type,
                       .swizzle = (unsigned char)swizzle,
                       .l2 = (unsigned char)l2,
                       .fill = (unsigned char)fill};
    REQUIRE(box[0] * size % UNIT == 0 && (most == 0 || box[0] * size <= most), CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < rank; i++) {
        REQUIRE(dims[i] >= 1 && dims[i] <= 1ull << 32 && box[i] >= 1 && box[i] <= BOX_MAX && steps[i] >= 1 &&
                    steps[i] <= STEP_MAX,
                CUDA_ERROR_INVALID_VALUE);
        noted.dims[i] = dims[i];
        noted.box[i] = (unsigned short)box[i];
        noted.steps[i] = (unsigned char)steps[i];
        if (i + 1 == rank)
            continue;
        REQUIRE(strides[i] % UNIT == 0 && strides[i] < 1ull << 40, CUDA_ERROR_INVALID_VALUE);
        noted.strides[i] = strides[i];
    }
    memset(map, 0, sizeof *map);
    memcpy(map, &noted, sizeof noted);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction fn, int block_threads,
                                                            size_t shared_bytes) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(n && fn && block_threads > 0 && block_threads <= HOSTCUDA_THREADS_MAX, CUDA_ERROR_INVALID_VALUE);
    const int by_threads = 2048 / block_threads;
    const int by_shared = (int)((size_t)(hostcuda_shared_limit() + 1024) / (shared_bytes + 1024));
    const int most = by_threads < 32 ? by_threads : 32;
    *n = by_shared < most ? by_shared : most;
    return CUDA_SUCCESS;
}
