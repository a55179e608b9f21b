// All lanes read the same constants, but these are 64 KB, and the cache for them holds 2 KB.
//@ kernel  constant_misses
//@ problem n 1048576
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

__constant__ float table[16000];

extern "C" __global__ void constant_misses(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    const int first = (blockIdx.x * 8 + threadIdx.x / 32) * 997 % 8000;
    float a = x[i];
#pragma unroll 4
    for (int k = 0; k < 64; k++)
        a += table[(first + k * 61) % 16000];
    y[i] = a;
}
