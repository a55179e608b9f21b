// One warp adds up for the block, and the others wait for it at a barrier.
// Expected: uneven_warps
//@ kernel  uneven_warps_barrier
//@ problem n 8388608
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 512
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=512
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void uneven_warps_barrier(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    __shared__ float values[THREADS], total;
    values[threadIdx.x] = x[i];
    __syncthreads();
    if (threadIdx.x < 32) {
        float sum = 0;
#pragma unroll 4
        for (int k = 0; k < THREADS; k++)
            sum = sum * 0.5f + values[(k + threadIdx.x) % THREADS];
        if (threadIdx.x == 0)
            total = sum;
    }
    __syncthreads();
    y[i] = x[i] + total;
}
