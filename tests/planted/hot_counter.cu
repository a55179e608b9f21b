// Each warp adds to the same number in global memory.
// Expected: atomics
//@ kernel  hot_counter
//@ problem n 33554432
//@ buffer  x f32 n in
//@ buffer  y f32 64 out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 4 * n / time_ns

extern "C" __global__ void hot_counter(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    float v = x[i];
    for (int s = 16; s; s /= 2)
        v += __shfl_xor_sync(~0u, v, s);
    if (threadIdx.x % 32 == 0)
        atomicAdd(y, v);
}
