// Of a matrix of few columns a tile would be nearly empty. So a block takes as many rows as make CHUNK bytes, reads them
// as the one run that they are, with what lies between them, and writes a run to each row of the destination.
//
//@ kernel   transpose_few_cols
//@ op       transpose
//@ param    CHUNK    4096 8192 16384
//@ param    VS       4 8 16
//@ param    PAD      0 1
//@ param    THREADS  128 256
//@ derived  N_COLS   cols
//@ derived  PITCH    lds
//@ derived  SPAN     iif(CHUNK / lds >= 128, CHUNK / lds / 128 * 128, CHUNK / lds / 32 * 32) / elem_size
//@ derived  BATCHED  batch > 1
//@ where    lds * elem_size <= 256 AND lds <= 2 * cols AND CHUNK / lds >= 64
//@ where    VS >= elem_size AND CHUNK / THREADS BETWEEN 32 AND 128
//@ launch   early
//@ block    THREADS
//@ grid     batch * ceil_div(rows, iif(CHUNK / lds >= 128, CHUNK / lds / 128 * 128, CHUNK / lds / 32 * 32) / elem_size)
//@ shared   (CHUNK + 32) / 128 * (128 + PAD * max(4, elem_size)) + 160
//@ args     dst, src, i64 rows, i64 ldd, i32 batch, i64 src_stride, i64 dst_stride
//@ default  CHUNK=8192 VS=8 PAD=0 THREADS=128

#include "turned.cuh"

#define WORDS (VS / WORD) // of a vector
#define TURNED_MAX 64     // words that a thread turns at once
#define CAN_TURN (ELEM_SIZE < WORD && PITCH * WORDS <= TURNED_MAX)
#define VECTORS TOUCHED(SPAN, VS) // of a run that is written

// Column `col` of what was read from byte `head` of the tile on.
struct column {
    int at;
    __device__ column(int head, int col) : at(head + col * ELEM_SIZE) {}
    __device__ void start(int q) { at += q * PITCH * ELEM_SIZE; }
    __device__ int next() {
        at += PITCH * ELEM_SIZE;
        return at - PITCH * ELEM_SIZE;
    }
};

// Vector `v` of all runs. ABREAST rows are as many words as a row has elements.
static __device__ void write_columns(elem *dst, long long ldd, int v, const char *tile, int head) {
    unsigned int in[WORDS][PITCH];
#pragma unroll
    for (int w = 0; w < WORDS; w++)
#pragma unroll
        for (int k = 0; k < PITCH; k++)
            in[w][k] = *(const unsigned int *)(tile + place(head + ((v * WORDS + w) * PITCH + k) * WORD));
#pragma unroll
    for (int c = 0; c < N_COLS; c++) {
        union {
            out_vec v;
            unsigned int w[WORDS];
        } out;
#pragma unroll
        for (int w = 0; w < WORDS; w++)
            out.w[w] = join([&](int i) {
                return part{in[w][(i * PITCH + c) / ABREAST], (i * PITCH + c) % ABREAST};
            });
        *(out_vec *)(dst + c * ldd + v * PER) = out.v;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    transpose_few_cols(elem *dst, const elem *src, long long rows, long long ldd, int batch, long long src_stride,
                       long long dst_stride) {
    extern __shared__ uint4 shared[];
    char *tile = (char *)shared;
    const unsigned spans = BATCHED ? gridDim.x / batch : gridDim.x, matrix = BATCHED ? blockIdx.x / spans : 0;
    const long long row0 = (long long)(blockIdx.x - matrix * spans) * SPAN;
    const int n = (int)min((long long)SPAN, rows - row0);
    const elem *begin = src, *end = src + (batch - 1) * src_stride + (rows - 1) * PITCH + N_COLS;
    src += matrix * src_stride + row0 * PITCH;
    dst += matrix * dst_stride + row0;

    wait_for_earlier();
    read_runs<1, SPAN * PITCH>(tile, src, 0, (n - 1) * PITCH + N_COLS, begin, end);
    __syncthreads();
    const int head = past(src, VEC);
    if (CAN_TURN && head % WORD == 0 && past(dst, VS) == 0 && (N_COLS == 1 || past(dst + ldd, VS) == 0)) {
        for (int v = threadIdx.x; v * PER < n; v += THREADS)
            if ((v + 1) * PER <= n)
                write_columns(dst, ldd, v, tile, head);
            else
                for (int c = 0; c < N_COLS; c++)
                    write_vector(dst + c * ldd, v, n, tile, column(head, c));
        return;
    }
    for (int i = threadIdx.x; i < N_COLS * VECTORS; i += THREADS)
        write_vector(dst + i / VECTORS * ldd, i % VECTORS, n, tile, column(head, i / VECTORS));
}
