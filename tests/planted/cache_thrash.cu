// Each value is read eight times, so far apart that the L2 cache has lost it.
//@ kernel  cache_thrash
//@ problem n 67108864
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void cache_thrash(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 8; k++)
        sum += x[(i + (long long)k * (n / 8)) % n];
    y[i] = sum;
}
