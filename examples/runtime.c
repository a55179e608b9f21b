/*
 * The same with the CUDA runtime API: a stream and arrays of the runtime's, and tt_transpose, which looks for
 * a plan by itself. A cudaStream_t is a CUstream, and the context is the one that the runtime has made
 * current. Then the launch is captured into a graph, which may be done as soon as there is a plan.
 *
 *   example-runtime [ROWS COLS [DB]]
 *
 * To build it, the headers and libcudart of a CUDA Toolkit are needed.
 */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tiletune.h"

#define CUDA(call)                                                                                           \
    do {                                                                                                     \
        cudaError_t e_ = (call);                                                                             \
        if (e_ != cudaSuccess) {                                                                             \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e_));                                      \
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

typedef struct matrices {
    size_t rows, cols, bytes;
    uint32_t *in, *out;  /* on the host */
    uint32_t *src, *dst; /* on the device */
    cudaStream_t stream;
} matrices;

static void make(matrices *m) {
    m->bytes = m->rows * m->cols * sizeof(uint32_t);
    m->in = malloc(m->bytes);
    m->out = malloc(m->bytes);
    if (!m->in || !m->out)
        exit(1);
    for (size_t i = 0; i < m->rows * m->cols; i++)
        m->in[i] = (uint32_t)i * 2654435761u;
    CUDA(cudaMalloc((void **)&m->src, m->bytes));
    CUDA(cudaMalloc((void **)&m->dst, m->bytes));
    CUDA(cudaStreamCreateWithFlags(&m->stream, cudaStreamNonBlocking));
    CUDA(cudaMemcpy(m->src, m->in, m->bytes, cudaMemcpyHostToDevice));
}

/* Counts what is wrong, and clears dst for the next try. */
static size_t count_wrong(matrices *m) {
    size_t wrong = 0;
    CUDA(cudaStreamSynchronize(m->stream));
    CUDA(cudaMemcpy(m->out, m->dst, m->bytes, cudaMemcpyDeviceToHost));
    CUDA(cudaMemset(m->dst, 0, m->bytes));
    for (size_t r = 0; r < m->rows; r++)
        for (size_t c = 0; c < m->cols; c++)
            wrong += m->out[c * m->rows + r] != m->in[r * m->cols + c];
    return wrong;
}

static void transpose(tt_ctx *ctx, const matrices *m) {
    tt_problem problem = TT_INIT(tt_problem);
    problem.rows = (int64_t)m->rows;
    problem.cols = (int64_t)m->cols;
    TT(tt_transpose(ctx, &problem, (CUdeviceptr)(uintptr_t)m->dst, (CUdeviceptr)(uintptr_t)m->src,
                    m->stream));
}

int main(int argc, char **argv) {
    matrices m = {.rows = argc > 2 ? strtoul(argv[1], NULL, 10) : 4096,
                  .cols = argc > 2 ? strtoul(argv[2], NULL, 10) : 4096};
    tt_ctx *ctx;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    if (m.rows < 1 || m.cols < 1) {
        fprintf(stderr, "usage: example-runtime [ROWS COLS [DB]]\n");
        return 2;
    }
    make(&m);
    opts.db_path = argc > 3 ? argv[3] : NULL;
    TT(tt_open(&ctx, &opts));
    transpose(ctx, &m);
    size_t wrong = count_wrong(&m);

    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA(cudaStreamBeginCapture(m.stream, cudaStreamCaptureModeGlobal));
    transpose(ctx, &m);
    CUDA(cudaStreamEndCapture(m.stream, &graph));
    CUDA(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    CUDA(cudaGraphLaunch(exec, m.stream));
    wrong += count_wrong(&m);
    printf("%zu x %zu, launched and from a graph: %s\n", m.rows, m.cols, wrong ? "WRONG" : "correct");

    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    tt_close(&ctx);
    CUDA(cudaStreamDestroy(m.stream));
    CUDA(cudaFree(m.dst));
    CUDA(cudaFree(m.src));
    free(m.in);
    free(m.out);
    return wrong != 0;
}
