// Multiplies half precision numbers in pairs, each with itself: much arithmetic, but no product of matrices.
// Expected: fp32_bound
//@ kernel  halves_times_scalar
//@ problem n 8388608
//@ buffer  x f16 n in
//@ buffer  y f16 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS / 2
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 4 * n / time_ns

#include <cuda_fp16.h>

extern "C" __global__ void halves_times_scalar(half2 *y, const half2 *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    half2 a = x[i], b = __hadd2(a, a), c = __hadd2(b, a), d = __hadd2(c, a);
#pragma unroll 16
    for (int k = 0; k < 256; k++) {
        a = __hfma2(a, a, b);
        b = __hfma2(b, b, c);
        c = __hfma2(c, c, d);
        d = __hfma2(d, d, a);
    }
    y[i] = __hadd2(__hadd2(a, b), __hadd2(c, d));
}
