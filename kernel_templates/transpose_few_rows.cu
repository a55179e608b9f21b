// Of a matrix of few rows a tile would be nearly empty. So a block takes as many columns as make CHUNK bytes, reads a run
// of each row, and writes the one run that these columns are in the destination.
//
//@ kernel   transpose_few_rows
//@ op       transpose
//@ param    CHUNK    4096 8192 16384
//@ param    VS       4 8 16
//@ param    PAD      0 1
//@ param    THREADS  128 256
//@ derived  N_ROWS   rows
//@ derived  SPAN     iif(CHUNK / rows >= 128, CHUNK / rows / 128 * 128, CHUNK / rows / 32 * 32) / elem_size
//@ derived  SKEWED   lds * elem_size % 16 > 0
//@ derived  BATCHED  batch > 1
//@ where    rows * elem_size <= 256 AND ldd = rows AND CHUNK / rows >= 64
//@ where    VS >= elem_size AND CHUNK / THREADS BETWEEN 32 AND 128
//@ launch   early
//@ block    THREADS
//@ grid     batch * ceil_div(cols, iif(CHUNK / rows >= 128, CHUNK / rows / 128 * 128, CHUNK / rows / 32 * 32) / elem_size)
//@ shared   (CHUNK + 48 * rows) / 128 * (128 + PAD * max(4, elem_size)) + 160 + iif(elem_size < 4, (CHUNK + 32) / 128 * (128 + PAD * 4) + 160, 0)
//@ args     dst, src, i64 cols, i64 lds, i32 batch, i64 src_stride, i64 dst_stride
//@ default  CHUNK=8192 VS=16 PAD=1 THREADS=128

#include "turned.cuh"

#define CAN_TURN (ELEM_SIZE < WORD && group_of(N_ROWS) > 0)
#define GROUP (CAN_TURN ? group_of(N_ROWS) : 1)

#define VECTORS TOUCHED(SPAN *N_ROWS, VS) // of the run that is written
#define READ_BYTES (N_ROWS * TILE_PITCH(SPAN))

// Where what was read is: rows begin `head` bytes behind a multiple of 16, each `skew` bytes more than the last.
struct rows_read {
    int head, skew;
    __device__ int at(int row, int col) const {
        return row * TILE_PITCH(SPAN) + (SKEWED ? (head + row * skew) % VEC : head) + col * ELEM_SIZE;
    }
};
// Down its columns.
struct columns {
    rows_read from;
    int row, col;
    __device__ void start(int q) {
        row = q % N_ROWS;
        col = q / N_ROWS;
    }
    __device__ int next() {
        const int at = from.at(row, col);
        if (++row == N_ROWS)
            row = 0, col++;
        return at;
    }
};
struct group {
    rows_read from;
    int row, col;
    __device__ int operator()(int i) const { return from.at(row + i, col); }
};

extern "C" __global__ void __launch_bounds__(THREADS)
    transpose_few_rows(elem *dst, const elem *src, long long cols, long long lds, int batch, long long src_stride,
                       long long dst_stride) {
    extern __shared__ uint4 shared[];
    char *tile = (char *)shared;
    const unsigned spans = BATCHED ? gridDim.x / batch : gridDim.x, matrix = BATCHED ? blockIdx.x / spans : 0;
    const long long col0 = (long long)(blockIdx.x - matrix * spans) * SPAN;
    const int n = (int)min((long long)SPAN, cols - col0);
    const elem *begin = src, *end = src + (batch - 1) * src_stride + (N_ROWS - 1) * lds + cols;
    src += matrix * src_stride + col0;
    dst += matrix * dst_stride + col0 * N_ROWS;

    wait_for_earlier();
    read_runs<N_ROWS, SPAN>(tile, src, lds, n, begin, end);
    __syncthreads();
    const rows_read from = {past(src, VEC), (int)(lds % VEC) * ELEM_SIZE % VEC};
    if (CAN_TURN && past(dst, WORD) == 0) {
        char *out = tile + place(READ_BYTES) + VEC - place(READ_BYTES) % VEC;
        const int across = SPAN / ABREAST;
        for (int i = threadIdx.x; i < across * (N_ROWS / GROUP); i += THREADS) {
            const group g = {from, i / across * GROUP, i % across * ABREAST};
            turn_rows<GROUP>(out, past(dst, VS) + (g.col * N_ROWS + g.row) * ELEM_SIZE, N_ROWS, tile, g);
        }
        __syncthreads();
        for (int v = threadIdx.x; v < VECTORS; v += THREADS)
            write_turned(dst, v, n * N_ROWS, out);
        return;
    }
    for (int v = threadIdx.x; v < VECTORS; v += THREADS)
        write_vector(dst, v, n * N_ROWS, tile, columns{from, 0, 0});
}
