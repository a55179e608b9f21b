// Few rows, where a tile would be nearly empty: a block takes columns of CHUNK bytes together, reads a run of each row, and
// writes one run. With GAPS in the destination it writes a run for each column.
//@ kernel   transpose_few_rows
//@ op       transpose
//@ param    CHUNK    4096 8192 16384
//@ param    VS       4 8 16
//@ param    PAD      0 1
//@ param    THREADS  128 256
//@ let      bytes    CHUNK / rows
//@ derived  N_ROWS   rows
//@ derived  SPAN     iif(bytes >= 128, bytes / 128 * 128, bytes / 32 * 32) / elem_size
//@ derived  SKEW     lds * elem_size % 16
//@ derived  GAPS     ldd > rows
//@ derived  BATCHED  batch > 1
//@ where    rows * elem_size <= 256 AND bytes >= 64
//@ where    VS >= elem_size AND CHUNK / THREADS BETWEEN 32 AND 128
//@ launch   early
//@ block    THREADS
//@ grid     batch * ceil_div(cols, SPAN)
//@ shared   (CHUNK + 48 * rows) / 128 * (128 + PAD * max(4, elem_size)) + 192 + iif(elem_size < 4 AND NOT GAPS, (CHUNK + 64) / 128 * (128 + PAD * 4) + 160, 0)
//@ args     dst, src, i64 cols, i64 lds, i64 ldd, i32 batch, i64 src_stride, i64 dst_stride
//@ default  CHUNK=8192 VS=16 PAD=1 THREADS=128

#define PADDED (PAD && ELEM_SIZE >= 4) // smaller ones are read in words that lie side by side
#include "turned_run.cuh"

#define PITCH TILE_PITCH(SPAN)

// Down the columns of the source.
struct place_in_columns {
    int from, left;
    __device__ int at(int i) const {
        const int over = i / N_ROWS + (i % N_ROWS >= left); // columns that end before
        return from + i * PITCH + over * (ELEM_SIZE - N_ROWS * PITCH);
    }
};
struct columns {
    int head;
    __device__ place_in_columns operator()(int col, unsigned int q) const { // the q-th element from column `col` on
        const int row = q % N_ROWS;
        return place_in_columns{head + row * PITCH + (col + (int)(q / N_ROWS)) * ELEM_SIZE, N_ROWS - row};
    }
};

// Elements of 1 and 2 bytes: the run of `n` columns.
template <bool ALIGNED> static __device__ void turn_columns(char *out, const elem *dst, int n, const char *tile, int head) {
    const int across = SPAN / ABREAST;
#pragma unroll 1
    for (int i = threadIdx.x; i < across * TURN_ROUNDS; i += THREADS) {
        const int col = i % across * ABREAST;
        if (col < n)
            turn_round<PITCH, ALIGNED>(out, begin_of(dst) + col * N_ROWS * ELEM_SIZE, tile, head + col * ELEM_SIZE, i / across);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    transpose_few_rows(elem *dst, const elem *src, long long cols, long long lds, long long ldd, int batch, long long src_stride,
                       long long dst_stride) {
    extern __shared__ uint4 shared[];
    char *tile = (char *)shared;
    const unsigned spans = BATCHED ? gridDim.x / batch : gridDim.x, matrix = BATCHED ? blockIdx.x / spans : 0;
    const long long col0 = (long long)(blockIdx.x - matrix * spans) * SPAN;
    const int n = (int)min((long long)SPAN, cols - col0);
    const elem *end = src + (batch - 1) * src_stride + (N_ROWS - 1) * lds + cols;
    const bool amid = col0 >= VEC && cols - col0 >= SPAN + VEC;
    const runs rows = {src + matrix * src_stride + col0, lds, N_ROWS, n, src, end, amid};
    const int head = past(rows.first, VEC);
    dst += matrix * dst_stride + col0 * (GAPS ? ldd : N_ROWS);
    wait_for_earlier();
    read_runs<N_ROWS, SPAN>(tile, rows);
    __syncthreads();
    if (GAPS) {
        write_runs<SPAN, N_ROWS>(dst, ldd, n, N_ROWS, tile, false, columns{head});
        return;
    }
    const bool even = past(dst, VS) == 0 && n * N_ROWS % PER == 0;
#if ELEM_SIZE < 4
    char *out = second_tile(tile, N_ROWS * PITCH);
    if (SKEW % WORD == 0 && head % WORD == 0)
        turn_columns<true>(out, dst, n, tile, head);
    else
        turn_columns<false>(out, dst, n, tile, head);
    __syncthreads();
    write_turned<SPAN * N_ROWS>(dst, n * N_ROWS, out, even);
#else
    write_runs<1, SPAN * N_ROWS>(dst, 0, 1, n * N_ROWS, tile, even, columns{head});
#endif
}
