// BAT's sum of built-in vectors (double3).
//
//@ kernel    sum_kernel
//@ problem   n 4194304
//@ buffer    lhs f64x3 n in
//@ buffer    rhs f64x3 1 in
//@ buffer    sum f64x3 n out
//@ param     BLOCK_SIZE 32 64 96 128 160 192 224 256 288 320 352 384 416 448 480 512 544 576 608 640 672 704 736 768 800 832 864 896 928 960 992 1024
//@ block     BLOCK_SIZE
//@ grid      ceil_div(n, BLOCK_SIZE)
//@ args      lhs, rhs, sum, i32 n
//@ default   BLOCK_SIZE=256
//@ reference sum_reference
//@ block     256
//@ grid      ceil_div(3 * n, 256)
//@ args      lhs, rhs, sum, i32 n
//@ metric    gbps 48 * n / time_ns

extern "C" __global__ void sum_reference(const double *lhs, const double *rhs, double *sum, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < 3 * n)
        sum[i] = lhs[i] + rhs[i % 3];
}

#include "../sources/BAT/batbench/benchmarks/others/builtin_vectors/builtin_vectors.cu"
