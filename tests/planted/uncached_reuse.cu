// The eight warps of a block read the same lines, past the L1 cache.
//@ kernel  uncached_reuse
//@ problem n 16777216
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void uncached_reuse(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 32; k++)
        sum += ((volatile const float *)x)[blockIdx.x * THREADS + (threadIdx.x + k * 32) % THREADS];
    y[i] = sum;
}
