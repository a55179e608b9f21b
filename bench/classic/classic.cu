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
    const int x = threadIdx.x, y = threadIdx.y;
    const long long col0 = (long long)blockIdx.x * TILE_DIM;
    const bool full_cols = col0 + TILE_DIM <= cols;
#pragma unroll 1 // or compiling takes twice as long
    for (int u = 0; u < UNROLL; u++) {
        const long long row0 = ((long long)blockIdx.y * UNROLL + u) * TILE_DIM;
        const unsigned int *from = src + (row0 + y) * lds + col0 + x;
        unsigned int *to = dst + (col0 + y) * ldd + row0 + x;
        if (full_cols && row0 + TILE_DIM <= rows) {
#pragma unroll
            for (int i = 0; i < TILE_DIM; i += BLOCK_ROWS)
                tile[y + i][x] = from[i * lds];
            __syncthreads();
#pragma unroll
            for (int i = 0; i < TILE_DIM; i += BLOCK_ROWS)
                to[i * ldd] = tile[x][y + i];
        } else {
#pragma unroll 1
            for (int i = 0; i < TILE_DIM; i += BLOCK_ROWS)
                if (row0 + y + i < rows && col0 + x < cols)
                    tile[y + i][x] = from[i * lds];
            __syncthreads();
#pragma unroll 1
            for (int i = 0; i < TILE_DIM; i += BLOCK_ROWS)
                if (col0 + y + i < cols && row0 + x < rows)
                    to[i * ldd] = tile[x][y + i];
        }
        __syncthreads();
    }
}
