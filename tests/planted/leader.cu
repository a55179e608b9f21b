// One warp of a block walks a list in shared memory, and the others wait.
// Expected: uneven_warps
//@ kernel  leader
//@ problem n 2097152
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 512
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=512
//@ metric  gbps 4 * n / time_ns

extern "C" __global__ void leader(float *y, const float *x, int n) {
    __shared__ float list[THREADS];
    const int i = blockIdx.x * THREADS + threadIdx.x;
    list[threadIdx.x] = x[i];
    __syncthreads();
    if (threadIdx.x < 32) {
        float best = 0;
#pragma unroll 4
        for (int k = 0; k < THREADS * 4; k++)
            best = fmaxf(best * 0.99f, list[(k * 7 + threadIdx.x) % THREADS]);
        list[threadIdx.x] = best;
    }
    __syncthreads();
    y[i] = list[threadIdx.x % 32];
}
