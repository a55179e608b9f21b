// All threads of a block count in the same four numbers of shared memory.
//@ kernel  shared_atomics
//@ problem n 16777216
//@ buffer  x u32 n in
//@ buffer  y u32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    4 * sm_count
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 4 * n / time_ns

extern "C" __global__ void shared_atomics(unsigned *y, const unsigned *x, int n) {
    __shared__ unsigned bins[4];
    if (threadIdx.x < 4)
        bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        const unsigned v = x[i];
#pragma unroll
        for (int k = 0; k < 32; k += 4)
            atomicAdd(&bins[v >> k & 3], v & 15);
    }
    __syncthreads();
    if (threadIdx.x < 4)
        y[blockIdx.x * 4 + threadIdx.x] = bins[threadIdx.x];
}
