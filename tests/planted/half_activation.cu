// An activation function on half precision numbers, again and again: exponentials and divisions, no products.
// Expected: special_bound
//@ kernel  half_activation
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

extern "C" __global__ void half_activation(half *y, const half *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    float v = __half2float(x[i]);
#pragma unroll 4
    for (int k = 0; k < 64; k++)
        v = __fdividef(v, 1 + __expf(-v)) + 0.5f;
    y[i] = __float2half(v);
}
