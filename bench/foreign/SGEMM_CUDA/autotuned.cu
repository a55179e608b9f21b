// The matrix product that S. Boehm tuned with a script. The number of threads is a constant of the author's file.
//@ kernel    sgemmAutotuned<BM, BN, BK, TM, TN>
//@ problem   m 4096
//@ problem   n 4096
//@ problem   k 4096
//@ buffer    a f32 m * k in
//@ buffer    b f32 k * n in
//@ buffer    c f32 m * n inout
//@ param     BM 64 128 256 as template
//@ param     BN 64 128 256 as template
//@ param     BK 8 16 32 64 as template
//@ param     TM 4 8 16 32 as template
//@ param     TN 4 8 16 32 as template
//@ param     K9_NUM_THREADS 256
//@ where     K9_NUM_THREADS * 4 % BK = 0 AND K9_NUM_THREADS * 4 % BN = 0
//@ where     BM % (K9_NUM_THREADS * 4 / BK) = 0 AND BK % (K9_NUM_THREADS * 4 / BN) = 0
//@ where     BN % (16 * TN) = 0 AND BM % (16 * TM) = 0
//@ where     BM * BK % (4 * K9_NUM_THREADS) = 0 AND BN * BK % (4 * K9_NUM_THREADS) = 0
//@ where     m % BM = 0 AND n % BN = 0 AND k % BK = 0
//@ block     K9_NUM_THREADS
//@ grid      n / BN, m / BM
//@ args      i32 m, i32 n, i32 k, f32 0.5, a, b, f32 3.0, c
//@ default   BM=128 BN=128 BK=16 TM=8 TN=8 K9_NUM_THREADS=256
//@ reference sgemm_global_mem_coalesce<32>
//@ block     1024
//@ grid      m / 32, n / 32
//@ args      i32 m, i32 n, i32 k, f32 0.5, a, b, f32 3.0, c
//@ tolerance scale 1e-5
//@ metric    gflops 2 * m * n * k / time_ns

#include "../sources/SGEMM_CUDA/src/kernels/9_kernel_autotuned.cuh"
#include "../sources/SGEMM_CUDA/src/kernels/2_kernel_global_mem_coalesce.cuh"
