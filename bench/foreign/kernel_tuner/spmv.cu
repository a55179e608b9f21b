// Kernel Tuner's product of a sparse matrix and a vector, by B. van Werkhoven.
//@ kernel    spmv_kernel
//@ problem   nrows 131072
//@ problem   ncols 65536
//@ problem   nnz max(nrows * ncols / 1000, 1)
//@ buffer    y f32 nrows out
//@ buffer    rows i32 nrows + 1 in sorted 0 nnz
//@ buffer    cols i32 nnz in uniform 0 ncols-1
//@ buffer    values f32 nnz in normal
//@ buffer    x f32 ncols in normal
//@ param     block_size_x 32 64 96 128 160 192 224 256 288 320 352 384 416 448 480 512 544 576 608 640 672 704 736 768 800 832 864 896 928 960 992 1024
//@ param     threads_per_row 1 32
//@ param     read_only 0 1
//@ block     block_size_x
//@ grid      ceil_div(nrows, block_size_x / threads_per_row)
//@ args      y, rows, cols, values, x, i32 nrows
//@ default   block_size_x=64 threads_per_row=32 read_only=1
//@ reference spmv_reference
//@ block     256
//@ grid      ceil_div(nrows, 256)
//@ args      y, rows, cols, values, x, i32 nrows
//@ tolerance scale 1e-5

extern "C" __global__ void spmv_reference(float *y, const int *rows, const int *cols, const float *values, const float *x,
                                          int nrows) {
    int row = blockIdx.x * 256 + threadIdx.x;
    if (row < nrows) {
        double sum = 0;
        for (int i = rows[row]; i < rows[row + 1]; i++)
            sum += (double)values[i] * x[cols[i]];
        y[row] = (float)sum;
    }
}

extern "C" {
#include "../sources/kernel_tuner/examples/cuda/spmv.cu"
}
