// All blocks read the same sector past the L1 cache, so one slice of the L2 cache serves them all.
//@ kernel  partition_camping
//@ problem n 1048576
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void partition_camping(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    float sum = 0;
#pragma unroll 8
    for (int k = 0; k < 64; k++) {
        sum += ((volatile const float *)x)[threadIdx.x & 7];
    }
    y[i] = sum;
}
