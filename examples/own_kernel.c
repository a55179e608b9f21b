/*
 * Launches a kernel of your own, examples/kernels/saxpy.cu, and checks the result. It uses the best
 * configuration that the store knows, or the file's default. Tune it first with
 *
 *   tune --kernel examples/kernels/saxpy.cu --problem n=1000000
 *   example-own-kernel examples/kernels/saxpy.cu 1000000 [DB]
 *
 * Uses the CUDA driver API, loaded at run time: to build it, cuda.h is enough (README.md says where it is).
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

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

int main(int argc, char **argv) {
    long n = argc > 2 ? atol(argv[2]) : 0;
    if (n < 1) {
        fprintf(stderr, "usage: example-own-kernel FILE.cu N [DB]\n");
        return 2;
    }
    size_t bytes = (size_t)n * sizeof(float), wrong = 0;
    float *vectors = malloc(2 * bytes), *results = malloc(bytes), a = 3;
    if (!vectors || !results)
        return 1;
    for (long i = 0; i < 2 * n; i++)
        vectors[i] = (float)(i % 1000);

    open_device();
    CUdeviceptr x, y;
    CU((CUdeviceptr *, size_t), "cuMemAlloc_v2", &x, bytes);
    CU((CUdeviceptr *, size_t), "cuMemAlloc_v2", &y, bytes);
    CU((CUdeviceptr, const void *, size_t), "cuMemcpyHtoD_v2", x, vectors, bytes);
    CU((CUdeviceptr, const void *, size_t), "cuMemcpyHtoD_v2", y, vectors + n, bytes);

    tt_ctx *ctx;
    tt_kernel *kernel;
    tt_plan *plan;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    tt_problem problem = TT_INIT(tt_problem);
    char values[64];
    opts.db_path = argc > 3 ? argv[3] : NULL;
    snprintf(values, sizeof values, "n=%ld", n);
    TT(tt_open(&ctx, &opts));
    TT(tt_kernel_open(&kernel, ctx, argv[1], NULL));
    problem.kernel = kernel;
    problem.values = values;
    TT(tt_plan_create(&plan, ctx, &problem));

    /* Prints the arguments in the order of the file. Then launches with a value of `a` that tuning never
     * saw. */
    size_t n_arguments = tt_plan_n_arguments(plan);
    for (size_t i = 0; i < n_arguments; i++) {
        tt_argument argument = TT_INIT(tt_argument);
        TT(tt_plan_argument(&argument, plan, i));
        printf("%-2s %-7s %s, %zu bytes\n", argument.name, argument.direction, argument.type, argument.bytes);
    }
    TT(tt_plan_launch_args(plan, (void *[]){&x, &y, &a}, n_arguments, NULL));
    CU((CUstream), "cuStreamSynchronize", NULL);

    CU((void *, CUdeviceptr, size_t), "cuMemcpyDtoH_v2", results, y, bytes);
    for (long i = 0; i < n; i++) /* whole numbers: exact */
        wrong += results[i] != a * vectors[i] + vectors[n + i];
    const tt_choice *choice = tt_plan_choice(plan);
    printf("%s with %s, match: %s: %s\n", values, choice->config, tt_match_name(choice->match),
           wrong ? "WRONG" : "correct");

    tt_plan_free(&plan);
    tt_kernel_close(&kernel);
    tt_close(&ctx);
    CU((CUdeviceptr), "cuMemFree_v2", x);
    CU((CUdeviceptr), "cuMemFree_v2", y);
    free(vectors);
    free(results);
    return wrong != 0;
}
