// The sum of n floats in one launch. Every block sums its part, all blocks wait for each other, and the first one sums the
// parts. So all blocks must be on the GPU at once: the grid is as large as that allows, and each thread takes many numbers.
//
//@ kernel    cooperative_sum
//@ problem   n 67108864
//@ buffer    x f32 n in
//@ buffer    sum f32 1 out
//@ param     THREADS 128 256 512 1024
//@ param     PER_SM 1 2 4 8
//@ param     UNROLL 1 2 4 8
//@ buffer    parts f32 sm_count * PER_SM scratch
//@ where     PER_SM * THREADS <= 2048
//@ launch    cooperative
//@ block     THREADS
//@ grid      sm_count * PER_SM
//@ args      sum, parts, x, i64 n
//@ default   THREADS=512 PER_SM=2 UNROLL=4
//@ buffer    wide f64 1024 scratch
//@ reference plain_parts
//@ block     256
//@ grid      1024
//@ args      wide, x, i64 n
//@ reference plain_sum
//@ block     1
//@ grid      1
//@ args      sum, wide
//@ tolerance scale 1e-4
//@ metric    gbps 4 * n / time_ns

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// The sum of all threads' values, in the first thread.
__device__ float sum_of_block(float value) {
    __shared__ float warps[32];
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_down_sync(0xffffffff, value, step);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x < THREADS / 32 ? warps[threadIdx.x] : 0;
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_down_sync(0xffffffff, value, step);
    __syncthreads();
    return value;
}

extern "C" __global__ void __launch_bounds__(THREADS) cooperative_sum(float *sum, float *parts, const float *x, long long n) {
    const long long whole = n / 4, step = (long long)gridDim.x * THREADS, at = (long long)blockIdx.x * THREADS + threadIdx.x;
    float value = at < n % 4 ? x[4 * whole + at] : 0;
#pragma unroll UNROLL
    for (long long i = at; i < whole; i += step) {
        const float4 v = ((const float4 *)x)[i];
        value += (v.x + v.y) + (v.z + v.w);
    }
    value = sum_of_block(value);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = value;
    cg::this_grid().sync();
    if (blockIdx.x > 0)
        return;
    value = 0;
    for (int i = threadIdx.x; i < gridDim.x; i += THREADS)
        value += parts[i];
    value = sum_of_block(value);
    if (threadIdx.x == 0)
        *sum = value;
}

extern "C" __global__ void plain_parts(double *parts, const float *x, long long n) {
    __shared__ double values[256];
    double value = 0;
    for (long long i = blockIdx.x * 256 + threadIdx.x; i < n; i += 256 * 1024)
        value += x[i];
    values[threadIdx.x] = value;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (int i = 1; i < 256; i++)
        value += values[i];
    parts[blockIdx.x] = value;
}

extern "C" __global__ void plain_sum(float *sum, const double *parts) {
    double value = 0;
    for (int i = 0; i < 1024; i++)
        value += parts[i];
    *sum = value;
}
