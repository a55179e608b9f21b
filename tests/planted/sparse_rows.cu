// Rows of a sparse matrix: a few are very long, and a block works on one.
// Expected: uneven_blocks
//@ kernel  sparse_rows
//@ problem n 33554432
//@ buffer  x f32 n in
//@ buffer  y f32 n/256 out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    2048
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 4 * n / time_ns

extern "C" __global__ void sparse_rows(float *y, const float *x, int n) {
    __shared__ float sums[8];
    const int row = blockIdx.x, length = row % 509 == 7 ? 2000000 : 4096;
    const float *own = x + (long long)row * 4096 % (n - 2097152);
    float sum = 0;
#pragma unroll 4
    for (int k = threadIdx.x; k < length; k += THREADS)
        sum += own[k];
    for (int s = 16; s; s /= 2)
        sum += __shfl_xor_sync(~0u, sum, s);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 1; k < 8; k++)
            sum += sums[k];
        y[row] = sum;
    }
}
