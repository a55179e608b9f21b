// Each step rounds a float to half precision and back, and there is hardly other arithmetic.
// Expected: conversions
//@ kernel  half_conversions
//@ problem n 8388608
//@ buffer  x f16 n in
//@ buffer  y f16 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 4 * n / time_ns

#include <cuda_fp16.h>

extern "C" __global__ void half_conversions(half *y, const half *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    half a = x[i], b = __float2half(__half2float(a) + 1);
#pragma unroll 8
    for (int k = 0; k < 256; k++) {
        a = __float2half(__half2float(a) + __half2float(b));
        b = __float2half(__half2float(b) + 0.125f);
    }
    y[i] = a;
}
