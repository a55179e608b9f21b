// C = A B on tensor cores, for row-major matrices of m x k and k x n half-precision numbers and a result in f32. A warp
// makes ROWS x COLS tiles of 16 x 16. A block has DOWN x ACROSS warps, which share a slice of A and B, SLICE wide.
//
//@ kernel    wmma_matmul
//@ problem   m 4096
//@ problem   n 4096
//@ problem   k 4096
//@ buffer    a f16 m * k in normal
//@ buffer    b f16 k * n in normal
//@ buffer    c f32 m * n out
//@ param     DOWN 1 2 4
//@ param     ACROSS 1 2 4
//@ param     ROWS 1 2 4
//@ param     COLS 1 2 4
//@ param     SLICE 16 32 64
//@ param     PAD 0 8
//@ derived   HIGH 16 * DOWN * ROWS
//@ derived   WIDE 16 * ACROSS * COLS
//@ derived   THREADS 32 * DOWN * ACROSS
//@ where     cc >= 70
//@ where     m % HIGH = 0 AND n % WIDE = 0 AND k % SLICE = 0
//@ where     ROWS * COLS <= 8 AND THREADS >= 64
//@ where     HIGH * SLICE % (8 * THREADS) = 0 AND WIDE * SLICE % (8 * THREADS) = 0
//@ where     2 * (HIGH * (SLICE + PAD) + SLICE * (WIDE + PAD)) <= 49152
//@ block     THREADS
//@ grid      n / WIDE, m / HIGH
//@ args      c, a, b, i32 n, i32 k
//@ default   DOWN=2 ACROSS=2 ROWS=2 COLS=2 SLICE=32 PAD=8
//@ reference wmma_reference
//@ block     32, 8
//@ grid      ceil_div(n, 32), ceil_div(m, 8)
//@ args      c, a, b, i32 m, i32 n, i32 k
//@ tolerance scale 1e-3
//@ metric    gflops 2 * m * n * k / time_ns
//@ objective maximize gflops

#include <cuda_fp16.h>
#include <mma.h>

// Copies a slice of HEIGHT x WIDTH numbers to shared memory, eight at once.
template <int HEIGHT, int WIDTH> __device__ void copy_slice(__half *to, const __half *from, int pitch) {
#pragma unroll
    for (int i = threadIdx.x; i < HEIGHT * WIDTH / 8; i += THREADS) {
        const int row = i / (WIDTH / 8), col = i % (WIDTH / 8) * 8;
        *(uint4 *)(to + row * (WIDTH + PAD) + col) = *(const uint4 *)(from + (long long)row * pitch + col);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) wmma_matmul(float *c, const __half *a, const __half *b, int n, int k) {
    using namespace nvcuda::wmma;
    __shared__ alignas(32) __half slice_a[HIGH * (SLICE + PAD)], slice_b[SLICE * (WIDE + PAD)];
    fragment<accumulator, 16, 16, 16, float> sums[ROWS][COLS];
    const int warp = threadIdx.x / 32, row = warp / ACROSS * ROWS * 16, col = warp % ACROSS * COLS * 16;
    a += (long long)blockIdx.y * HIGH * k;
    b += blockIdx.x * WIDE;
    c += (long long)blockIdx.y * HIGH * n + blockIdx.x * WIDE;
#pragma unroll
    for (int i = 0; i < ROWS * COLS; i++)
        fill_fragment(sums[i / COLS][i % COLS], 0.0f);
    for (int at = 0; at < k; at += SLICE) {
        copy_slice<HIGH, SLICE>(slice_a, a + at, k);
        copy_slice<SLICE, WIDE>(slice_b, b + (long long)at * n, n);
        __syncthreads();
#pragma unroll
        for (int s = 0; s < SLICE; s += 16) {
            fragment<matrix_a, 16, 16, 16, __half, row_major> left[ROWS];
            fragment<matrix_b, 16, 16, 16, __half, row_major> right[COLS];
#pragma unroll
            for (int i = 0; i < ROWS; i++)
                load_matrix_sync(left[i], slice_a + (row + 16 * i) * (SLICE + PAD) + s, SLICE + PAD);
#pragma unroll
            for (int i = 0; i < COLS; i++)
                load_matrix_sync(right[i], slice_b + s * (WIDE + PAD) + col + 16 * i, WIDE + PAD);
#pragma unroll
            for (int i = 0; i < ROWS * COLS; i++)
                mma_sync(sums[i / COLS][i % COLS], left[i / COLS], right[i % COLS], sums[i / COLS][i % COLS]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < ROWS * COLS; i++)
        store_matrix_sync(c + (long long)(row + i / COLS * 16) * n + col + i % COLS * 16, sums[i / COLS][i % COLS], n,
                          mem_row_major);
}

extern "C" __global__ void wmma_reference(float *c, const __half *a, const __half *b, int m, int n, int k) {
    const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
    for (int i = 0; i < k && row < m && col < n; i++)
        sum += __half2float(a[(long long)row * k + i]) * __half2float(b[(long long)i * n + col]);
    if (row < m && col < n)
        c[(long long)row * n + col] = sum;
}
