// Heat flows along a rod in shared memory: two barriers for each small step, and one block on an SM.
// Expected: over_synchronised
//@ kernel  barrier_steps
//@ problem n 4194304
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 1024
//@ block   THREADS
//@ grid    4 * sm_count
//@ args    y, x, i32 n
//@ shared  131072
//@ default THREADS=1024
//@ metric  gbps 4 * n / time_ns

extern "C" __global__ void barrier_steps(float *y, const float *x, int n) {
    extern __shared__ float rod[];
    const int i = blockIdx.x * THREADS + threadIdx.x, left = (threadIdx.x + THREADS - 1) % THREADS;
    rod[threadIdx.x] = x[i];
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < 512; k++) {
        const float v = rod[threadIdx.x] * 0.75f + rod[left] * 0.25f;
        __syncthreads();
        rod[threadIdx.x] = v;
        __syncthreads();
    }
    y[i] = rod[threadIdx.x];
}
