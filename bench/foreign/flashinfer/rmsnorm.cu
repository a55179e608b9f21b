// RMS normalization of FlashInfer, by Z. Ye and others.
//@ kernel    flashinfer::norm::RMSNormKernel<vec, half>
//@ include   ../sources/flashinfer/include
//@ problem   n 8192
//@ problem   d 4096
//@ require   d % 8 = 0
//@ buffer    x f16 n * d in normal
//@ buffer    weight f16 d in normal
//@ buffer    y f16 n * d out
//@ param     vec 1 2 4 8 as template
//@ runtime   warps 1 2 4 8 16 32
//@ block     32, warps
//@ grid      n
//@ shared    4 * warps
//@ args      x, weight, y, u32 d, u32 d, u32 d, f32 0.0, f32 1e-5
//@ default   vec=8 warps=16
//@ reference rmsnorm
//@ block     32
//@ grid      n
//@ args      x, weight, y, i32 d
//@ tolerance abs 1e-3 rel 2e-3

#include <cuda_fp16.h>
#include "../sources/flashinfer/include/flashinfer/norm.cuh"

extern "C" __global__ void rmsnorm(const half *x, const half *weight, half *y, int d) {
    x += size_t(blockIdx.x) * d;
    y += size_t(blockIdx.x) * d;
    float sum = 0;
    for (int i = threadIdx.x; i < d; i += 32)
        sum += __half2float(x[i]) * __half2float(x[i]);
    for (int k = 16; k > 0; k /= 2)
        sum += __shfl_xor_sync(~0u, sum, k);
    for (int i = threadIdx.x; i < d; i += 32)
        y[i] = __float2half(__half2float(x[i]) * rsqrtf(sum / d + 1e-5f) * __half2float(weight[i]));
}
