//@ kernel    gemm_fast
//@ problem   m 4096
//@ problem   n 4096
//@ problem   k 4096
//@ buffer    a f32 m * k in uniform
//@ buffer    b f32 n * k in uniform
//@ buffer    c f32 m * n out
//@ param     MWG 16 32 64 128
//@ param     NWG 16 32 64 128
//@ param     KWG 16 32
//@ param     MDIMC 8 16 32
//@ param     NDIMC 8 16 32
//@ param     MDIMA 8 16 32
//@ param     NDIMB 8 16 32
//@ param     KWI 2 8
//@ param     VWM 1
//@ param     VWN 1
//@ param     STRM 0
//@ param     STRN 0
//@ param     SA 0 1
//@ param     SB 0 1
//@ param     PRECISION 32
//@ where     m % MWG = 0
//@ where     n % NWG = 0
//@ where     k % KWG = 0
//@ where     KWG % KWI = 0
//@ where     MWG % MDIMC = 0
//@ where     NWG % NDIMC = 0
//@ where     MWG % MDIMA = 0
//@ where     NWG % NDIMB = 0
//@ where     KWG % (MDIMC * NDIMC / MDIMA) = 0
//@ where     KWG % (MDIMC * NDIMC / NDIMB) = 0
//@ block     MDIMC, NDIMC
//@ grid      m / MWG, n / NWG
//@ args      i32 m, i32 n, i32 k, a, b, c
//@ default   MWG=16 NWG=16 KWG=32 MDIMC=16 NDIMC=16 MDIMA=16 NDIMB=16 KWI=2 VWM=1 VWN=1 STRM=0 STRN=0 SA=0 SB=0 PRECISION=32
//@ reference gemm_reference
//@ block     16, 16
//@ grid      m / 16, n / 16
//@ args      i32 m, i32 n, i32 k, a, b, c
//@ tolerance scale 1e-5

extern "C" __global__ void gemm_reference(int m, int n, int k, const float *a, const float *b, float *c) {
    __shared__ float ta[16][16], tb[16][16];
    int x = threadIdx.x, y = threadIdx.y, im = blockIdx.x * 16 + x, in = blockIdx.y * 16 + y;
    float sum = 0;
    for (int k0 = 0; k0 < k; k0 += 16) {
        ta[y][x] = a[(k0 + y) * m + im];
        tb[y][x] = b[(k0 + y) * n + blockIdx.y * 16 + x];
        __syncthreads();
        for (int q = 0; q < 16; q++)
            sum += ta[q][x] * tb[q][y];
        __syncthreads();
    }
    c[in * m + im] = sum;
}
#include "../sources/BAT/batbench/benchmarks/GEMM/gemm.cu"
