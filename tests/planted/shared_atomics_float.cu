// Adding floats in shared memory is a loop of compare and swap, and the lanes of a warp meet at eight sums.
// Expected: shared_atomics
//@ kernel  shared_atomics_float
//@ problem n 8388608
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    4 * sm_count
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 4 * n / time_ns

extern "C" __global__ void shared_atomics_float(float *y, const float *x, int n) {
    __shared__ float sums[8];
    if (threadIdx.x < 8)
        sums[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
        atomicAdd(&sums[i / 3 & 7], x[i]);
    __syncthreads();
    if (threadIdx.x < 8)
        y[blockIdx.x * 8 + threadIdx.x] = sums[threadIdx.x];
}
