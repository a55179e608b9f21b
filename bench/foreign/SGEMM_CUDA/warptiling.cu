// Matrix product with warp tiles, by S. Boehm.
//@ kernel    sgemmWarptiling<BM, BN, BK, WM, WN, WNITER, TM, TN, THREADS>
//@ problem   m 4096
//@ problem   n 4096
//@ problem   k 4096
//@ buffer    a f32 m * k in
//@ buffer    b f32 k * n in
//@ buffer    c f32 m * n inout
//@ param     BM 64 128 256 as template
//@ param     BN 64 128 256 as template
//@ param     BK 8 16 32 64 as template
//@ param     WM 32 64 128 256 as template
//@ param     WN 32 64 128 256 as template
//@ param     WNITER 1 2 4 8 as template
//@ param     TM 4 8 16 32 as template
//@ param     TN 4 8 16 32 as template
//@ param     THREADS 128 256 as template
//@ where     BM % WM = 0 AND BN % WN = 0
//@ where     BM / WM * (BN / WN) = THREADS / 32
//@ where     WM * WN % (32 * TM * TN * WNITER) = 0
//@ let       WMITER WM * WN / (32 * TM * TN * WNITER)
//@ where     WM % WMITER = 0 AND WN % WNITER = 0
//@ where     WM / WMITER % TM = 0 AND WN / WNITER % TN = 0
//@ where     WM / WMITER / TM * (WN / WNITER / TN) = 32
//@ where     THREADS * 4 % BK = 0 AND THREADS * 4 % BN = 0
//@ where     BM % (THREADS * 4 / BK) = 0 AND BK % (THREADS * 4 / BN) = 0
//@ where     BN % (16 * TN) = 0 AND BM % (16 * TM) = 0
//@ where     BM * BK % (4 * THREADS) = 0 AND BN * BK % (4 * THREADS) = 0
//@ where     m % BM = 0 AND n % BN = 0 AND k % BK = 0
//@ block     THREADS
//@ grid      n / BN, m / BM
//@ args      i32 m, i32 n, i32 k, f32 0.5, a, b, f32 3.0, c
//@ default   BM=128 BN=128 BK=16 WM=64 WN=64 WNITER=4 TM=8 TN=4 THREADS=128
//@ reference sgemm_global_mem_coalesce<32>
//@ block     1024
//@ grid      m / 32, n / 32
//@ args      i32 m, i32 n, i32 k, f32 0.5, a, b, f32 3.0, c
//@ tolerance scale 1e-5
//@ metric    gflops 2 * m * n * k / time_ns

#include "../sources/SGEMM_CUDA/src/kernels/10_kernel_warptiling.cuh"
#include "../sources/SGEMM_CUDA/src/kernels/2_kernel_global_mem_coalesce.cuh"
