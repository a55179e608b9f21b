/*
 * Each kernel of verify.cu fills all SMs with warps that only multiply and add, or only read what the L2
 * cache holds. The best of a few launches counts.
 */
#include "tuner/worker/peaks.h"

enum {
    THREADS = 256,
    BLOCKS_PER_SM = 8,
    NUMBERS = 8,
    TURNS = 16,
    ROUNDS = 64,
    LAUNCHES = 5,
    L2_ROUNDS = 8,
    L2_PART = 4
};

static tt_status best_ns(double *out, const tt__bench_pool *pool, CUfunction fn, unsigned blocks,
                         void **args) {
    const tt__driver *cu = pool->cu;
    *out = 0;
    for (int i = 0; i <= LAUNCHES; i++) { /* the first one warms up */
        float ms;
        TT_TRY(tt__cu_check(cu->cuEventRecord(pool->events[0], pool->stream), "cuEventRecord"));
        TT_TRY(tt__cu_check(cu->cuLaunchKernel(fn, blocks, 1, 1, THREADS, 1, 1, 0, pool->stream, args, NULL),
                            "a launch for the peaks"));
        TT_TRY(tt__cu_check(cu->cuEventRecord(pool->events[1], pool->stream), "cuEventRecord"));
        TT_TRY(tt__cu_check(cu->cuStreamSynchronize(pool->stream), "measuring peaks"));
        TT_TRY(tt__cu_check(cu->cuEventElapsedTime(&ms, pool->events[0], pool->events[1]),
                            "cuEventElapsedTime"));
        if (i > 0 && (*out <= 0 || (double)ms * 1e6 < *out))
            *out = (double)ms * 1e6;
    }
    return TT_OK;
}

/* False: the cubin has none. */
static bool function(CUfunction *out, const tt__driver *cu, CUlibrary library, const char *name) {
    CUkernel kernel;
    return cu->cuLibraryGetKernel(&kernel, library, name) == CUDA_SUCCESS &&
           cu->cuKernelGetFunction(out, kernel) == CUDA_SUCCESS;
}

static tt_status measure(tt__peaks *out, const tt__bench_pool *pool, const tt__gpu *gpu, CUlibrary library) {
    const struct {
        const char *name;
        double *gflops;
        double lanes; /* multiplications of a thread in one instruction */
    } kinds[] = {{"tt_peak_fp32", &out->fp32_gflops, 1},
                 {"tt_peak_fp64", &out->fp64_gflops, 1},
                 {"tt_peak_fp16", &out->fp16_gflops, 2},
                 {"tt_peak_tensor", &out->tensor_gflops, 16.0 * 16 * 8 / 32}};
    const unsigned blocks = (unsigned)gpu->sm_count * BLOCKS_PER_SM;
    CUdeviceptr at = pool->base;
    CUfunction fn;
    double ns;
    for (size_t i = 0; i < TT__COUNT(kinds); i++) {
        int rounds = ROUNDS;
        if (!function(&fn, pool->cu, library, kinds[i].name))
            continue; /* old GPUs have no such instruction */
        TT_TRY(best_ns(&ns, pool, fn, blocks, (void *[]){&at, &rounds}));
        *kinds[i].gflops = 2.0 * kinds[i].lanes * NUMBERS * TURNS * ROUNDS * THREADS * blocks / ns;
    }
    size_t bytes =
        (size_t)gpu->l2_bytes / L2_PART < pool->bytes ? (size_t)gpu->l2_bytes / L2_PART : pool->bytes;
    long long words = (long long)(bytes / 16);
    int rounds = L2_ROUNDS;
    if (!function(&fn, pool->cu, library, "tt_peak_l2"))
        return TT_OK;
    TT_TRY(best_ns(&ns, pool, fn, blocks, (void *[]){&at, &words, &rounds, &at}));
    out->l2_gbps = 16.0 * (double)words * L2_ROUNDS / ns;
    return TT_OK;
}

tt_status tt__peaks_measure(tt__peaks *out, const tt__bench_pool *pool, const tt__gpu *gpu,
                            const void *cubin) {
    const tt__driver *cu = pool->cu;
    CUlibrary library;
    *out = (tt__peaks){0};
    TT_TRY(tt__cu_check(cu->cuLibraryLoadData(&library, cubin, NULL, NULL, 0, NULL, NULL, 0),
                        "cuLibraryLoadData (peaks)"));
    tt_status status = measure(out, pool, gpu, library);
    cu->cuLibraryUnload(library);
    return status;
}
