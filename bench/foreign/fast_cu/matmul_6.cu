// Matrix product with wgmma and TMA, the sixth of P. Shah's. His file is one of several that need a name from his program.
//@ kernel    M6::matmulKernel6<BM, BN, 64, THREADS, QSIZE, NUM_SM>
//@ problem   m 4096
//@ problem   n 4096
//@ problem   k 4096
//@ buffer    a bf16 m * k in
//@ buffer    b bf16 n * k in
//@ buffer    c bf16 m * n out
//@ param     BM 64 128 256 as template
//@ param     BN 64 128 192 256 as template
//@ param     THREADS 256 384 as template
//@ param     QSIZE 2 3 4 5 6 as template
//@ param     NUM_SM 64 128 132 as template
//@ where     BM % (THREADS / 128 - 1) = 0 AND BM / (THREADS / 128 - 1) % 64 = 0
//@ where     m % (16 * BM) = 0 AND n % (8 * BN) = 0
//@ tensormap map_a a (k, m) box (64, BM) swizzle 128
//@ tensormap map_b b (k, n) box (64, BN) swizzle 128
//@ block     THREADS
//@ grid      NUM_SM
//@ shared    (BM + BN) * 64 * 2 * QSIZE
//@ args      i32 m, i32 n, i32 k, c, map_a, map_b
//@ default   BM=128 BN=256 THREADS=384 QSIZE=3 NUM_SM=128
//@ reference product
//@ block     16, 16
//@ grid      m / 16, n / 16
//@ args      a, b, c, i32 m, i32 k
//@ tolerance scale 1e-2 rel 1e-2
//@ metric    gflops 2 * m * n * k / time_ns

#include <cuda.h>
#include <cuda/barrier>
#include <cuda_bf16.h>
typedef __nv_bfloat16 bf16;
#include "../sources/fast.cu/examples/matmul/matmul_6.cuh"
#include "../references/matmul_bf16.cuh"
