// Kernel Tuner's sum, by B. van Werkhoven: the first of its two launches, which leaves one partial sum for each block.
//@ kernel    sum_floats
//@ problem   n 134217728
//@ require   n % 4 = 0
//@ buffer    array f32 n in uniform
//@ buffer    right f64 1024 in zeros
//@ param     block_size_x 32 64 128 256 512 1024
//@ param     vector 1 2 4
//@ param     num_blocks 32 64 128 256 512 1024 2048 4096 8192 16384 32768
//@ param     loop_unroll_factor_0 0 1 8 16 32 64
//@ param     use_shuffle 0 1
//@ buffer    sum_global f32 num_blocks out
//@ block     block_size_x
//@ grid      num_blocks
//@ args      sum_global, array, i32 n
//@ default   block_size_x=256 vector=1 num_blocks=1024 loop_unroll_factor_0=0 use_shuffle=0
//@ data      sum_right
//@ block     256
//@ grid      4
//@ args      right, array, i32 n
//@ verify    compare
//@ block     1
//@ grid      1
//@ args      error, right, sum_global, i32 num_blocks
//@ limit     1e-5

extern "C" __global__ void sum_right(double *right, const float *array, int n) {
    int t = blockIdx.x * 256 + threadIdx.x;
    double sum = 0;
    for (int i = t; i < n; i += 1024)
        sum += array[i];
    right[t] = sum;
}

extern "C" __global__ void compare(double *error, const double *right, const float *sums, int blocks) {
    double a = 0, b = 0;
    for (int i = 0; i < 1024; i++)
        a += right[i];
    for (int i = 0; i < blocks; i++)
        b += sums[i];
    *error = fabs(a - b) / a;
}

extern "C" {
#include "../sources/kernel_tuner/examples/cuda/reduction.cu"
}
