// A transpose as many programs have it. A tile goes through shared memory, so reads and writes both run along rows.
// For tuning, the lines that begin with //@ were added, and the reference at the end. The kernel is unchanged.
//
//@ kernel    classic_transpose
//@ problem   rows 4096
//@ problem   cols 4096
//@ buffer    src f32 rows * cols in
//@ buffer    dst f32 rows * cols out
//@ param     TILE_DIM   16 32 64
//@ param     BLOCK_ROWS 2 4 8 16 32
//@ param     PAD        0 1 2 4
//@ param     UNROLL     1 2 4
//@ where     TILE_DIM % BLOCK_ROWS = 0
//@ where     TILE_DIM * BLOCK_ROWS BETWEEN 64 AND 1024
//@ block     TILE_DIM, BLOCK_ROWS
//@ grid      ceil_div(cols, TILE_DIM), ceil_div(rows, TILE_DIM * UNROLL)
//@ args      dst, src, i32 rows, i32 cols
//@ default   TILE_DIM=32 BLOCK_ROWS=8 PAD=1 UNROLL=1
//@ reference transpose_naive
//@ block     32, 8
//@ grid      ceil_div(cols, 32), ceil_div(rows, 8)
//@ args      dst, src, i32 rows, i32 cols
//@ metric    gbps 2 * rows * cols * 4 / time_ns

extern "C" __global__ void classic_transpose(float *dst, const float *src, int rows, int cols) {
    __shared__ float tile[TILE_DIM][TILE_DIM + PAD];

    for (int u = 0; u < UNROLL; u++) {
        const int x0 = blockIdx.x * TILE_DIM, y0 = (blockIdx.y * UNROLL + u) * TILE_DIM;

        for (int j = threadIdx.y; j < TILE_DIM; j += BLOCK_ROWS)
            if (x0 + threadIdx.x < cols && y0 + j < rows)
                tile[j][threadIdx.x] = src[(size_t)(y0 + j) * cols + x0 + threadIdx.x];
        __syncthreads();

        for (int j = threadIdx.y; j < TILE_DIM; j += BLOCK_ROWS)
            if (y0 + threadIdx.x < rows && x0 + j < cols)
                dst[(size_t)(x0 + j) * rows + y0 + threadIdx.x] = tile[threadIdx.x][j];
        __syncthreads();
    }
}

extern "C" __global__ void transpose_naive(float *dst, const float *src, int rows, int cols) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < cols && y < rows)
        dst[(size_t)x * rows + y] = src[(size_t)y * cols + x];
}
