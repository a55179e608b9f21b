// Matrix product with wgmma, TMA to several blocks, and clusters, the ninth of P. Shah's, with his whole program.
//@ kernel    M9::matmulKernel9<BM, BN, 64, THREADS, QSIZE, 128, CLUSTER_M, CLUSTER_N>
//@ problem   m 4096
//@ problem   n 4096
//@ problem   k 4096
//@ buffer    a bf16 m * k in
//@ buffer    b bf16 n * k in
//@ buffer    c bf16 m * n out
//@ param     BM 64 128 256 as template
//@ param     BN 128 256 as template
//@ param     THREADS 256 384 as template
//@ param     QSIZE 2 3 4 5 as template
//@ param     CLUSTER_M 1 2 4 as template
//@ param     CLUSTER_N 1 2 4 as template
//@ where     BM % (THREADS / 128 - 1) = 0 AND BM / (THREADS / 128 - 1) % 64 = 0
//@ where     m % (16 * BM) = 0 AND n % (8 * BN) = 0
//@ where     CLUSTER_M * CLUSTER_N <= 8
//@ tensormap map_a a (64, m, k / 64) box (64, BM, 1) strides (k, 64) swizzle 128
//@ tensormap map_b b (64, n, k / 64) box (64, BN, 1) strides (k, 64) swizzle 128
//@ block     THREADS
//@ grid      128
//@ shared    (BM + BN) * 64 * 2 * QSIZE
//@ args      i32 m, i32 n, i32 k, c, map_a, map_b
//@ default   BM=128 BN=256 THREADS=384 QSIZE=3 CLUSTER_M=2 CLUSTER_N=1
//@ reference product
//@ block     16, 16
//@ grid      m / 16, n / 16
//@ args      a, b, c, i32 m, i32 k
//@ tolerance scale 1e-2 rel 1e-2
//@ metric    gflops 2 * m * n * k / time_ns

#include "../sources/fast.cu/matmul.cu"
#include "../references/matmul_bf16.cuh"
