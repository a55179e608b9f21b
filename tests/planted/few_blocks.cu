// Eight blocks do all the work.
//@ kernel  few_blocks
//@ problem n 16777216
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 1024
//@ block   THREADS
//@ grid    8
//@ args    y, x, i32 n
//@ default THREADS=1024
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void few_blocks(float *y, const float *x, int n) {
#pragma unroll 4
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
        y[i] = x[i] * 2;
}
