// Matrix product of halves with mma and three stages, by Bruce-Lee-LY. All sizes are macros of the author's file. The loads before the loop are for three stages.
//@ kernel    mmaAsyncStage3Kernel
//@ include   ../sources/cuda_hgemm/src/common
//@ problem   m 4096
//@ problem   n 4096
//@ problem   k 4096
//@ buffer    a f16 m * k in
//@ buffer    b f16 n * k in
//@ buffer    c f16 m * n out
//@ param     K_STAGE 3
//@ param     BLOCK_STRIDE 1 2 4 8 16 32
//@ block     256
//@ grid      BLOCK_STRIDE, ceil_div(m, 256), ceil_div(n, 128 * BLOCK_STRIDE)
//@ shared    max((256 + 128) * 32 * 2 * K_STAGE, 256 * 128 * 2)
//@ args      a, b, c, u64 m, u64 n, u64 k
//@ default   K_STAGE=3 BLOCK_STRIDE=16
//@ reference product
//@ block     32, 8
//@ grid      n / 32, m / 8
//@ args      a, b, c, i32 n, i32 k
//@ tolerance scale 2e-2
//@ metric    gflops 2 * m * n * k / time_ns

#include "../sources/cuda_hgemm/src/mma/mma_async_stage3.cu"

// B is stored by columns.
extern "C" __global__ void product(const half *a, const half *b, half *c, int n, int k) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
    for (int i = 0; i < k; i++)
        sum += __half2float(a[y * k + i]) * __half2float(b[x * k + i]);
    c[y * n + x] = __float2half(sum);
}
