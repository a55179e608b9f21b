// A block in a thousand has forty times the work of the others, as the longest row of a sparse matrix has.
// Expected: uneven_blocks
//@ kernel  uneven_blocks_one
//@ problem n 16777216
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS / 8
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 4 * n / time_ns

extern "C" __global__ void uneven_blocks_one(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    const int rows = blockIdx.x % 1000 == 999 ? 4000 : 100;
    float a = x[i], b = a + 1;
#pragma unroll 8
    for (int k = 0; k < rows; k++) {
        a = a * b + 0.5f;
        b = b * a + 0.25f;
    }
    y[i] = a + b;
}
