// Few columns, where a tile would be nearly empty: a block takes rows of CHUNK bytes together and writes a run to each row of
// the destination. Rows close together are read as one run, gaps included. Rows that lie APART are a run each.
//@ kernel   transpose_few_cols
//@ op       transpose
//@ param    CHUNK    4096 8192 16384
//@ param    VS       4 8 16
//@ param    PAD      0 1
//@ param    THREADS  128 256
//@ let      bytes    CHUNK / min(lds, cols + 48 / elem_size)
//@ derived  N_COLS   cols
//@ derived  APART    (lds - cols) * elem_size > 48
//@ derived  PITCH    iif(APART, 0, lds)
//@ derived  SKEW     lds * elem_size % 16
//@ derived  SPAN     iif(bytes >= 128, bytes / 128 * 128, bytes / 32 * 32) / elem_size
//@ derived  BATCHED  batch > 1
//@ where    cols * elem_size <= 256 AND bytes >= 64
//@ where    VS >= elem_size AND CHUNK / THREADS BETWEEN 32 AND 128
//@ launch   early
//@ block    THREADS
//@ grid     batch * ceil_div(rows, SPAN)
//@ shared   (CHUNK + 32) / 128 * (128 + PAD * max(4, elem_size)) + 192
//@ args     dst, src, i64 rows, i64 lds, i64 ldd, i32 batch, i64 src_stride, i64 dst_stride
//@ default  CHUNK=8192 VS=16 PAD=1 THREADS=128

#define PADDED PAD
#include "chunk.cuh"

#define STEP (APART ? TILE_PITCH(N_COLS) : PITCH * ELEM_SIZE) // bytes from row to row in shared memory

#define TURNED_MAX 64 // words that a thread turns at once
#define CAN_TURN   (!APART && ELEM_SIZE < WORD && PITCH * WORDS <= TURNED_MAX)

// Down a column of the source, from byte `head` of the tile on.
struct column {
    int from;
    __device__ int at(int i) const {
        return from + i * STEP;
    }
};
struct columns {
    int head;
    __device__ column operator()(int col, int row) const {
        return column{head + row * STEP + col * ELEM_SIZE};
    }
};

#if CAN_TURN
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
        unsigned int out[WORDS];
#pragma unroll
        for (int w = 0; w < WORDS; w++)
            out[w] = join([&](int i) { return part{in[w][(i * PITCH + c) / ABREAST], (i * PITCH + c) % ABREAST}; });
        store_if<VS>(true, dst + c * ldd + v * PER, out);
    }
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS)
    transpose_few_cols(elem *dst, const elem *src, long long rows, long long lds, long long ldd, int batch, long long src_stride,
                       long long dst_stride) {
    extern __shared__ uint4 shared[];
    char *tile = (char *)shared;
    const unsigned spans = BATCHED ? gridDim.x / batch : gridDim.x, matrix = BATCHED ? blockIdx.x / spans : 0;
    const long long row0 = (long long)(blockIdx.x - matrix * spans) * SPAN;
    const int n = (int)min((long long)SPAN, rows - row0);
    const elem *end = src + (batch - 1) * src_stride + (rows - 1) * lds + N_COLS;
    const elem *first = src + matrix * src_stride + row0 * lds;
    const int head = past(first, VEC);
    dst += matrix * dst_stride + row0;
    const bool amid = row0 > 0 && rows - row0 >= SPAN + VEC;
    const bool even = past(dst, VS) == 0 && (N_COLS == 1 || past(dst + ldd, VS) == 0) && n % PER == 0;
    wait_for_earlier();
#if APART
    read_runs<SPAN, N_COLS>(tile, runs{first, lds, n, N_COLS, src, end, amid});
#else
    read_runs<1, SPAN * PITCH>(tile, runs{first, 0, 1, (n - 1) * PITCH + N_COLS, src, end, amid});
#endif
    __syncthreads();
#if CAN_TURN
    if (head % WORD == 0 && even) {
        for (int v = threadIdx.x; v * PER < n; v += THREADS)
            write_columns(dst, ldd, v, tile, head);
        return;
    }
#endif
    write_runs<N_COLS, SPAN>(dst, ldd, N_COLS, n, tile, even, columns{head});
}
