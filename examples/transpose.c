/*
 * Transposes a matrix with the best configuration that the store knows. It opens the store, launches on a
 * stream of its own, and checks the result. If the winner's cubin is in the store, NVRTC is not needed on
 * this machine.
 *
 *   example-transpose [ROWS COLS [DB]]
 *
 * Uses the CUDA driver API, loaded at run time: to build it, cuda.h is enough (README.md says where it is). A
 * program of yours would link with -lcuda, or use the runtime API. tiletune works in the current context.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tiletune.h"

static void *lib;

/* Calls a driver function by name, and ends the program if it fails. */
#define CU(type, name, ...)                                                                                  \
    do {                                                                                                     \
        CUresult(*fn_) type = (CUresult(*) type)(intptr_t)dlsym(lib, name);                                  \
        CUresult r_ = fn_ ? fn_(__VA_ARGS__) : CUDA_ERROR_NOT_FOUND;                                         \
        if (r_ != CUDA_SUCCESS) {                                                                            \
            fprintf(stderr, "%s: CUDA error %d\n", name, (int)r_);                                           \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

#define TT(call)                                                                                             \
    do {                                                                                                     \
        if ((call) != TT_OK) {                                                                               \
            fprintf(stderr, "%s\n", tt_last_error());                                                        \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static void open_device(void) {
    CUdevice dev;
    CUcontext context;
    lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (!lib) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    CU((unsigned), "cuInit", 0);
    CU((CUdevice *, int), "cuDeviceGet", &dev, 0);
    CU((CUcontext *, CUdevice), "cuDevicePrimaryCtxRetain", &context, dev);
    CU((CUcontext), "cuCtxSetCurrent", context);
}

static size_t count_wrong(const uint32_t *in, const uint32_t *out, size_t rows, size_t cols) {
    size_t wrong = 0;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            wrong += out[c * rows + r] != in[r * cols + c];
    return wrong;
}

int main(int argc, char **argv) {
    long rows = argc > 2 ? atol(argv[1]) : 4096, cols = argc > 2 ? atol(argv[2]) : 4096;
    if (rows < 1 || cols < 1) {
        fprintf(stderr, "usage: example-transpose [ROWS COLS [DB]]\n");
        return 2;
    }
    size_t n = (size_t)rows * (size_t)cols, bytes = n * sizeof(uint32_t);
    uint32_t *in = malloc(bytes), *out = malloc(bytes);
    if (!in || !out)
        return 1;
    for (size_t i = 0; i < n; i++)
        in[i] = (uint32_t)i * 2654435761u;

    open_device();
    CUdeviceptr src, dst;
    CUstream stream;
    CU((CUdeviceptr *, size_t), "cuMemAlloc_v2", &src, bytes);
    CU((CUdeviceptr *, size_t), "cuMemAlloc_v2", &dst, bytes);
    CU((CUstream *, unsigned), "cuStreamCreate", &stream, 0);
    CU((CUdeviceptr, const void *, size_t), "cuMemcpyHtoD_v2", src, in, bytes);

    /* The whole of tiletune: a context, a plan, a launch. */
    tt_ctx *ctx;
    tt_plan *plan;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    tt_problem problem = TT_INIT(tt_problem);
    opts.db_path = argc > 3 ? argv[3] : NULL;
    problem.rows = rows;
    problem.cols = cols;
    TT(tt_open(&ctx, &opts));
    TT(tt_plan_create(&plan, ctx, &problem));
    TT(tt_plan_launch(plan, dst, src, stream));
    CU((CUstream), "cuStreamSynchronize", stream);

    CU((void *, CUdeviceptr, size_t), "cuMemcpyDtoH_v2", out, dst, bytes);
    const tt_choice *choice = tt_plan_choice(plan);
    size_t wrong = count_wrong(in, out, (size_t)rows, (size_t)cols);
    printf("%ld x %ld with %s (%s), match: %s: %s\n", rows, cols, choice->kernel, choice->config,
           tt_match_name(choice->match), wrong ? "WRONG" : "correct");

    tt_plan_free(&plan);
    tt_close(&ctx);
    CU((CUstream), "cuStreamDestroy_v2", stream);
    CU((CUdeviceptr), "cuMemFree_v2", dst);
    CU((CUdeviceptr), "cuMemFree_v2", src);
    free(in);
    free(out);
    return wrong != 0;
}
