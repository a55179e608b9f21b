// A tree adds up the numbers of a block, with a barrier after each of its small steps.
// Expected: over_synchronised
//@ kernel  barrier_tree
//@ problem n 4194304
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 512
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=512
//@ metric  gbps 4 * n / time_ns

extern "C" __global__ void barrier_tree(float *y, const float *x, int n) {
    __shared__ float sums[THREADS];
    const int i = blockIdx.x * THREADS + threadIdx.x;
    float v = x[i];
#pragma unroll 1
    for (int round = 0; round < 32; round++) {
        sums[threadIdx.x] = v;
        __syncthreads();
#pragma unroll 1
        for (int half = THREADS / 2; half > 0; half /= 2) {
            if (threadIdx.x < half)
                sums[threadIdx.x] += sums[threadIdx.x + half];
            __syncthreads();
        }
        v += sums[0];
        __syncthreads();
    }
    y[i] = v;
}
