// Block i does i rounds of work, as one row of a triangle each.
//@ kernel  uneven_blocks
//@ problem n 16777216
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 512
//@ block   THREADS
//@ grid    4 * sm_count
//@ args    y, x, i32 n
//@ default THREADS=512
//@ metric  gbps 4 * n / time_ns

extern "C" __global__ void uneven_blocks(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    float a = x[i], b = a + 1;
#pragma unroll 1
    for (int row = 0; row < blockIdx.x * blockIdx.x / 64; row++)
#pragma unroll
        for (int k = 0; k < 16; k++) {
            a = a * b + 0.5f;
            b = b * a + 0.25f;
        }
    y[i] = a + b;
}
