// A product of half precision matrices with sums in single precision, without tensor cores.
// Expected: tensor_cores_unused
//@ kernel  half_products
//@ problem n 1024
//@ buffer  x f16 n*n in
//@ buffer  y f32 n*n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    (n / 16) * (n / 16)
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 4 * n * n / time_ns

#include <cuda_fp16.h>

extern "C" __global__ void half_products(float *y, const half *x, int n) {
    __shared__ float a[16][17], b[16][17];
    const int row = blockIdx.x / (n / 16) * 16 + threadIdx.x / 16,
              column = blockIdx.x % (n / 16) * 16 + threadIdx.x % 16;
    float sum = 0;
    for (int k0 = 0; k0 < n; k0 += 16) {
        a[threadIdx.x / 16][threadIdx.x % 16] = __half2float(x[row * n + k0 + threadIdx.x % 16]);
        b[threadIdx.x / 16][threadIdx.x % 16] = __half2float(x[(k0 + threadIdx.x / 16) * n + column]);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++)
            sum += a[threadIdx.x / 16][k] * b[k][threadIdx.x % 16];
        __syncthreads();
    }
    y[row * n + column] = sum;
}
