// Each warp counts in bins of its own lanes, so that atomics in shared memory never meet.
// Expected: memory_bound
//@ kernel  shared_histogram
//@ problem n 268435456
//@ buffer  x u32x4 n/4 in
//@ buffer  y u32 n/128 out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS / 64
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 4 * n / time_ns

extern "C" __global__ void shared_histogram(unsigned *y, const uint4 *x, int n) {
    __shared__ unsigned bins[4][THREADS];
    const int i = blockIdx.x * THREADS * 16 + threadIdx.x;
    for (int k = 0; k < 4; k++)
        bins[k][threadIdx.x] = 0;
#pragma unroll
    for (int k = 0; k < 16; k++) {
        const uint4 v = x[i + k * THREADS];
        atomicAdd(&bins[(v.x ^ v.y ^ v.z ^ v.w) & 3][threadIdx.x], 1);
    }
    __syncthreads();
    if (threadIdx.x < 128)
        y[blockIdx.x * 128 + threadIdx.x] = bins[threadIdx.x % 4][threadIdx.x];
}
