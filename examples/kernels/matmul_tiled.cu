// C = A B for row-major matrices of m x k, k x n and m x n floats, with square tiles in shared memory. From a tile of A
// and one of B, with TILE x TILE values each, a block makes TILE * TILE * TILE products. A thread makes ROWS rows of C,
// so a value of B is read from shared memory once and used ROWS times. matmul.cu goes further.
//
//@ kernel    matmul_tiled
//@ problem   m 4096
//@ problem   n 4096
//@ problem   k 4096
//@ buffer    a f32 m * k in uniform
//@ buffer    b f32 k * n in uniform
//@ buffer    c f32 m * n out
//@ param     TILE 8 16 32 64
//@ param     ROWS 1 2 4 8 16
//@ where     TILE % ROWS = 0 AND TILE * TILE / ROWS BETWEEN 64 AND 1024
//@ block     TILE, TILE / ROWS
//@ grid      ceil_div(n, TILE), ceil_div(m, TILE)
//@ args      c, a, b, i32 m, i32 n, i32 k
//@ default   TILE=32 ROWS=4
//@ reference matmul_naive
//@ block     32, 8
//@ grid      ceil_div(n, 32), ceil_div(m, 8)
//@ args      c, a, b, i32 m, i32 n, i32 k
//@ tolerance rel 2e-5
//@ metric    gflops 2 * m * n * k / time_ns

#define STEP (TILE / ROWS) // rows of threads, and rows of C from one of a thread to its next

extern "C" __global__ void __launch_bounds__(TILE *STEP)
    matmul_tiled(float *__restrict__ c, const float *__restrict__ a, const float *__restrict__ b, int m,
                 int n, int k) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
    float sums[ROWS] = {};

    for (int k0 = 0; k0 < k; k0 += TILE) {
#pragma unroll
        for (int r = 0; r < TILE; r += STEP) { // values outside a matrix count as 0
            as[y + r][x] = row + r < m && k0 + x < k ? a[(size_t)(row + r) * k + k0 + x] : 0.0f;
            bs[y + r][x] = k0 + y + r < k && col < n ? b[(size_t)(k0 + y + r) * n + col] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++)
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                sums[r] += as[y + r * STEP][i] * bs[i][x];
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        if (row + r * STEP < m && col < n)
            c[(size_t)(row + r * STEP) * n + col] = sums[r];
}

extern "C" __global__ void matmul_naive(float *c, const float *a, const float *b, int m, int n, int k) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= n)
        return;
    float sum = 0;
    for (int i = 0; i < k; i++)
        sum += a[(size_t)row * k + i] * b[(size_t)i * n + col];
    c[(size_t)row * n + col] = sum;
}
