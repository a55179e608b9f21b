/*
 * A pipeline: blocks of a matrix are copied to the device, transposed and copied back. Streams take turns, so
 * that copies in both directions and transposes run at the same time. The program prints how much of the
 * work this hid: the time that was saved, of all work but the longest part, which nothing can hide. Copies in
 * both directions share the link and the host's memory. What they take at once, with nothing else to do, is
 * printed too: no pipeline is faster.
 *
 *   example-overlap [ROWS COLS BLOCKS [DB]]
 *
 * Copies run beside other work only if the host's memory is page-locked (cuMemHostAlloc). Each stream has
 * device arrays of its own, because its next block may arrive before the other stream's has left. To build it,
 * cuda.h is enough (README.md says where it is).
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

enum { N_STREAMS = 3, TRIES = 5 }; /* one block comes, one goes, and one has time to be transposed */
enum { COPY_IN = 1, TRANSPOSE = 2, COPY_OUT = 4, ALL = COPY_IN | TRANSPOSE | COPY_OUT };

typedef struct pipeline {
    size_t rows, cols, n_blocks, bytes; /* bytes of a block */
    uint32_t *in, *out;                 /* of all blocks, page-locked */
    CUdeviceptr src[N_STREAMS], dst[N_STREAMS];
    CUstream streams[N_STREAMS];
    tt_plan *plan;
} pipeline;

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

static void allocate(pipeline *p) {
    size_t n = p->rows * p->cols * p->n_blocks;
    CU((void **, size_t, unsigned), "cuMemHostAlloc", (void **)&p->in, p->n_blocks * p->bytes, 0);
    CU((void **, size_t, unsigned), "cuMemHostAlloc", (void **)&p->out, p->n_blocks * p->bytes, 0);
    for (size_t i = 0; i < n; i++)
        p->in[i] = (uint32_t)i * 2654435761u;
    for (int s = 0; s < N_STREAMS; s++) {
        CU((CUdeviceptr *, size_t), "cuMemAlloc_v2", &p->src[s], p->bytes);
        CU((CUdeviceptr *, size_t), "cuMemAlloc_v2", &p->dst[s], p->bytes);
        CU((CUstream *, unsigned), "cuStreamCreate", &p->streams[s], CU_STREAM_NON_BLOCKING);
    }
}

static void release(pipeline *p) {
    tt_plan_free(&p->plan);
    for (int s = 0; s < N_STREAMS; s++) {
        CU((CUstream), "cuStreamDestroy_v2", p->streams[s]);
        CU((CUdeviceptr), "cuMemFree_v2", p->dst[s]);
        CU((CUdeviceptr), "cuMemFree_v2", p->src[s]);
    }
    CU((void *), "cuMemFreeHost", p->out);
    CU((void *), "cuMemFreeHost", p->in);
}

/* Enqueues these parts of all blocks, which go to so many streams from `first` on in turn. */
static void enqueue(const pipeline *p, int parts, size_t first, size_t n_streams) {
    for (size_t b = 0; b < p->n_blocks; b++) {
        size_t at = b * p->rows * p->cols, s = first + b % n_streams;
        CUdeviceptr src = p->src[s], dst = p->dst[s];
        CUstream stream = p->streams[s];
        if (parts & COPY_IN)
            CU((CUdeviceptr, const void *, size_t, CUstream), "cuMemcpyHtoDAsync_v2", src, p->in + at,
               p->bytes, stream);
        if (parts & TRANSPOSE)
            TT(tt_plan_launch(p->plan, dst, src, stream));
        if (parts & COPY_OUT)
            CU((void *, CUdeviceptr, size_t, CUstream), "cuMemcpyDtoHAsync_v2", p->out + at, dst, p->bytes,
               stream);
    }
}

static void wait_for_all(const pipeline *p) {
    for (int s = 0; s < N_STREAMS; s++)
        CU((CUstream), "cuStreamSynchronize", p->streams[s]);
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Milliseconds; the least of some runs. */
static double time_ms(const pipeline *p, int parts, size_t n_streams) {
    double least = 0;
    for (int i = 0; i < TRIES; i++) {
        double begin = now_ms();
        enqueue(p, parts, 0, n_streams);
        wait_for_all(p);
        double ms = now_ms() - begin;
        least = i == 0 || ms < least ? ms : least;
    }
    return least;
}

static size_t count_wrong(const pipeline *p) {
    size_t wrong = 0, n = p->rows * p->cols;
    for (size_t b = 0; b < p->n_blocks; b++)
        for (size_t r = 0; r < p->rows; r++)
            for (size_t c = 0; c < p->cols; c++)
                wrong += p->out[b * n + c * p->rows + r] != p->in[b * n + r * p->cols + c];
    return wrong;
}

/* All blocks in on one stream and all out on another. Returns milliseconds. */
static double both_ways_ms(const pipeline *p) {
    double least = 0;
    for (int i = 0; i < TRIES; i++) {
        double begin = now_ms();
        enqueue(p, COPY_IN, 0, 1);
        enqueue(p, COPY_OUT, 1, 1);
        wait_for_all(p);
        double ms = now_ms() - begin;
        least = i == 0 || ms < least ? ms : least;
    }
    return least;
}

static void measure(const pipeline *p) {
    double in = time_ms(p, COPY_IN, 1), transpose = time_ms(p, TRANSPOSE, 1), out = time_ms(p, COPY_OUT, 1);
    double both = both_ways_ms(p), all = time_ms(p, ALL, N_STREAMS);
    double sum = in + transpose + out, gb = (double)(p->n_blocks * p->bytes) * 1e-9;
    double longest = in > out ? in : out, shorter = in > out ? out : in;
    longest = transpose > longest ? transpose : longest;
    const struct {
        const char *what;
        double gb, ms;
    } rows[] = {{"copies in", gb, in},
                {"transposes", 2 * gb, transpose},
                {"copies out", gb, out},
                {"copies both ways", 2 * gb, both},
                {"all, overlapped", 2 * gb, all}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        printf("%-16s %9.3f ms  %6.1f GB/s\n", rows[i].what, rows[i].ms, rows[i].gb / rows[i].ms * 1e3);
    printf("hidden of all but the longest part: %.0f %%; copies alone hide %.0f %% of the shorter ones\n",
           100 * (sum - all) / (sum - longest), 100 * (in + out - both) / shorter);
}

int main(int argc, char **argv) {
    long rows = argc > 3 ? atol(argv[1]) : 2048, cols = argc > 3 ? atol(argv[2]) : 2048;
    long n_blocks = argc > 3 ? atol(argv[3]) : 64;
    if (rows < 1 || cols < 1 || n_blocks < 1) {
        fprintf(stderr, "usage: example-overlap [ROWS COLS BLOCKS [DB]]\n");
        return 2;
    }
    pipeline p = {.rows = (size_t)rows, .cols = (size_t)cols, .n_blocks = (size_t)n_blocks};
    p.bytes = p.rows * p.cols * sizeof(uint32_t);

    tt_ctx *ctx;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    tt_problem problem = TT_INIT(tt_problem);
    opts.db_path = argc > 4 ? argv[4] : NULL;
    problem.rows = rows;
    problem.cols = cols;
    open_device();
    allocate(&p);
    TT(tt_open(&ctx, &opts));
    TT(tt_plan_create(&p.plan, ctx, &problem));
    const tt_choice *choice = tt_plan_choice(p.plan);
    printf("%ld blocks of %ld x %ld with %s (%s)\n", n_blocks, rows, cols, choice->kernel, choice->config);

    measure(&p);
    memset(p.out, 0, p.n_blocks * p.bytes);
    enqueue(&p, ALL, 0, N_STREAMS);
    wait_for_all(&p);
    size_t wrong = count_wrong(&p);
    printf("results: %s\n", wrong ? "WRONG" : "correct");

    release(&p);
    tt_close(&ctx);
    return wrong != 0;
}
