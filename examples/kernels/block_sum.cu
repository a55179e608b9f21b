// The sum of each row of a matrix, by CUB's BlockReduce. CUB comes with the CUDA Toolkit.
//
//@ kernel    row_sum
//@ problem   rows 65536
//@ problem   cols 1024
//@ buffer    x f32 rows * cols in
//@ buffer    y f32 rows out
//@ param     THREADS 32 64 128 256 512
//@ param     ITEMS 1 2 4 8
//@ param     ALGORITHM BLOCK_REDUCE_RAKING BLOCK_REDUCE_WARP_REDUCTIONS
//@ where     THREADS * ITEMS <= 2 * cols
//@ block     THREADS
//@ grid      rows
//@ args      y, x, i32 cols
//@ default   THREADS=128 ITEMS=4 ALGORITHM=BLOCK_REDUCE_WARP_REDUCTIONS
//@ reference row_sum_reference
//@ block     32
//@ grid      ceil_div(rows, 32)
//@ args      y, x, i32 rows, i32 cols
//@ tolerance rel 1e-4
//@ metric    gbps 4 * rows * cols / time_ns

#include <cub/block/block_reduce.cuh>

extern "C" __global__ void row_sum(float *y, const float *x, int cols) {
    using reduce = cub::BlockReduce<float, THREADS, cub::ALGORITHM>;
    __shared__ typename reduce::TempStorage storage;
    const float *row = x + (long long)blockIdx.x * cols;
    float sum = 0;
    for (int first = threadIdx.x; first < cols; first += THREADS * ITEMS)
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            if (first + k * THREADS < cols)
                sum += row[first + k * THREADS];
    sum = reduce(storage).Sum(sum);
    if (threadIdx.x == 0)
        y[blockIdx.x] = sum;
}

extern "C" __global__ void row_sum_reference(float *y, const float *x, int rows, int cols) {
    const int row = blockIdx.x * 32 + threadIdx.x;
    double sum = 0;
    for (int i = 0; row < rows && i < cols; i++)
        sum += x[(long long)row * cols + i];
    if (row < rows)
        y[row] = sum;
}
