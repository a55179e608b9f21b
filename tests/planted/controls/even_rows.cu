// Rows of a matrix, a block for each, all of the same length.
// Expected: memory_bound
//@ kernel  even_rows
//@ problem n 16384
//@ buffer  x f32x4 n*n/4 in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 4 * n * n / time_ns

extern "C" __global__ void even_rows(float *y, const float4 *x, int n) {
    __shared__ float sums[THREADS / 32];
    const float4 *row = x + (long long)blockIdx.x * (n / 4);
    float sum = 0;
#pragma unroll 8
    for (int k = threadIdx.x; k < n / 4; k += THREADS)
        sum += row[k].x * 0.5f + row[k].y + row[k].z + row[k].w;
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < THREADS / 32 ? sums[threadIdx.x] : 0;
        for (int step = 16; step > 0; step /= 2)
            sum += __shfl_xor_sync(~0u, sum, step);
        if (threadIdx.x == 0)
            y[blockIdx.x] = sum;
    }
}
