// The space that tuners are compared on: a square tile through padded shared memory, as in countless tutorials.
// 144 configurations. A block of TILE_DIM x BLOCK_ROWS threads moves UNROLL tiles, one below the other.
//
//@ kernel   classic
//@ op       transpose
//@ param    TILE_DIM   16 32 64
//@ param    BLOCK_ROWS 2 4 8 16 32
//@ param    PAD        0 1 2 4
//@ param    UNROLL     1 2 4
//@ where    elem_size = 4
//@ where    TILE_DIM % BLOCK_ROWS = 0
//@ where    TILE_DIM * BLOCK_ROWS BETWEEN 64 AND 1024
//@ block    TILE_DIM, BLOCK_ROWS
//@ grid     ceil_div(cols, TILE_DIM), ceil_div(rows, TILE_DIM * UNROLL)
//@ args     dst, src, i64 rows, i64 cols, i64 lds, i64 ldd
//@ default  TILE_DIM=32 BLOCK_ROWS=8 PAD=1 UNROLL=1

extern "C" __global__ void classic(unsigned int *dst, const unsigned int *src, long long rows, long long cols,
                                   long long lds, long long ldd) {
    __shared__ unsigned int tile[TILE_DIM][TILE_DIM + PAD];
    const long long col0 = (long long)blockIdx.x * TILE_DIM;
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        const long long row0 = ((long long)blockIdx.y * UNROLL + u) * TILE_DIM;
        const long long col = col0 + threadIdx.x, out_col = row0 + threadIdx.x;
#pragma unroll
        for (int i = threadIdx.y; i < TILE_DIM; i += BLOCK_ROWS)
            if (row0 + i < rows && col < cols)
                tile[i][threadIdx.x] = src[(row0 + i) * lds + col];
        __syncthreads();
#pragma unroll
        for (int i = threadIdx.y; i < TILE_DIM; i += BLOCK_ROWS)
            if (col0 + i < cols && out_col < rows)
                dst[(col0 + i) * ldd + out_col] = tile[threadIdx.x][i];
        if (u + 1 < UNROLL)
            __syncthreads();
    }
}
