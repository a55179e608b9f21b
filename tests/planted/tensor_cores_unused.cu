// A product of half precision matrices without tensor cores. `y` is n x n, and so is `x`, both factors in one.
//@ kernel  tensor_cores_unused
//@ problem n 2048
//@ buffer  x f16 n * n in
//@ buffer  y f16 n * n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    (n / 64) * (n / 128)
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 4 * n * n / time_ns

#include <cuda_fp16.h>

extern "C" __global__ void tensor_cores_unused(half2 *y, const half2 *x, int n) {
    __shared__ half2 a[16][65], b[16][64];
    const int row0 = blockIdx.x / (n / 128) * 64, col0 = blockIdx.x % (n / 128) * 64; // columns are pairs
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    half2 sums[4][4] = {};
    for (int k0 = 0; k0 < n; k0 += 16) {
        for (int k = 0; k < 4; k++) {
            const int row = ty + k * 16;
            a[tx][row] = __half2half2(((const half *)x)[(row0 + row) * n + k0 + tx]);
            b[ty][tx + k * 16] = x[(k0 + ty) * (n / 2) + col0 + tx + k * 16];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++)
#pragma unroll
            for (int r = 0; r < 4; r++)
#pragma unroll
                for (int c = 0; c < 4; c++)
                    sums[r][c] = __hfma2(a[k][ty + 16 * r], b[k][tx + 16 * c], sums[r][c]);
        __syncthreads();
    }
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 4; c++)
            y[(row0 + ty + 16 * r) * (n / 2) + col0 + tx + 16 * c] = sums[r][c];
}
