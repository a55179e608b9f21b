// Four steps of `tune study`: a tile goes through shared memory, so that reads and writes are coalesced. It is stored as it lies and
// loaded down its columns, or turned while it is stored. PAD keeps bank conflicts away. docs/study.md says what each STEP shows.
//@ kernel   ladder_tile
//@ op       transpose_ladder
//@ param    STEP  plain turned padded several
//@ derived  PAD   STEP IN ('padded', 'several')
//@ derived  TALL  32 + 32 * (STEP = 'several')
//@ where    align >= elem_size AND batch = 1
//@ block    32, 8
//@ grid     ceil_div(cols, 32) * ceil_div(rows, TALL)
//@ shared   TALL * (32 + PAD) * elem_size
//@ args     dst, src, i64 rows, i64 cols, i64 lds, i64 ldd
//@ default  STEP=plain

#include "common.cuh"

enum { plain, turned, padded, several };
#define TILE_DIM   32
#define BLOCK_ROWS 8

extern "C" __global__ void __launch_bounds__(TILE_DIM *BLOCK_ROWS)
    ladder_tile(elem *__restrict__ dst, const elem *__restrict__ src, long long rows, long long cols, long long lds,
                long long ldd) {
    extern __shared__ elem tile[][TILE_DIM + PAD]; // TALL rows
    const unsigned across = (unsigned)((cols + TILE_DIM - 1) / TILE_DIM);
    const long long row0 = (long long)(blockIdx.x / across) * TALL;
    const long long col0 = (long long)(blockIdx.x % across) * TILE_DIM;
    const int x = threadIdx.x;
#pragma unroll
    for (int j = 0; j < TALL; j += BLOCK_ROWS) {
        const int y = threadIdx.y + j;
        if (row0 + y < rows && col0 + x < cols)
            (STEP == turned ? tile[x][y] : tile[y][x]) = src[(row0 + y) * lds + col0 + x];
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) {
        const int y = threadIdx.y + j;
#pragma unroll
        for (int u = 0; u < TALL; u += TILE_DIM)
            if (col0 + y < cols && row0 + u + x < rows)
                dst[(col0 + y) * ldd + row0 + u + x] = STEP == turned ? tile[y][x] : tile[u + x][y];
    }
}
