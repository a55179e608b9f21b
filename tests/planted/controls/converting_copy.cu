// Converts half precision to single: memory is the limit, and no product is anywhere.
// Expected: memory_bound
//@ kernel  converting_copy
//@ problem n 134217728
//@ buffer  x f16x4 n/4 in
//@ buffer  y f32x4 n/4 out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS / 16
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 6 * n / time_ns

#include <cuda_fp16.h>

extern "C" __global__ void converting_copy(float4 *y, const uint2 *x, int n) {
    const int i = blockIdx.x * THREADS * 4 + threadIdx.x;
    uint2 v[4];
#pragma unroll
    for (int k = 0; k < 4; k++)
        v[k] = x[i + k * THREADS];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const float2 a = __half22float2(*(half2 *)&v[k].x), b = __half22float2(*(half2 *)&v[k].y);
        y[i + k * THREADS] = make_float4(a.x, a.y, b.x, b.y);
    }
}
