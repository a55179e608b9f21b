// KTT's version of CLTune's matrix product, by Cedric Nugteren, F. Petrovic and others.
//@ kernel    gemm_fast
//@ problem   m 2048
//@ problem   n 2048
//@ problem   k 2048
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
//@ param     VWM 1 2 4
//@ param     VWN 1 2 4
//@ param     STRM 0 1
//@ param     STRN 0 1
//@ param     SA 0 1
//@ param     SB 0 1
//@ param     PRECISION 32
//@ where     KWG % KWI = 0
//@ where     MWG % (MDIMC * VWM) = 0
//@ where     NWG % (NDIMC * VWN) = 0
//@ where     MWG % (MDIMA * VWM) = 0
//@ where     NWG % (NDIMB * VWN) = 0
//@ where     KWG % (MDIMC * NDIMC / MDIMA) = 0
//@ where     KWG % (MDIMC * NDIMC / NDIMB) = 0
//@ where     m % MWG = 0 AND n % NWG = 0 AND k % KWG = 0
//@ block     MDIMC, NDIMC
//@ grid      m / MWG, n / NWG
//@ args      i32 m, i32 n, i32 k, a, b, c
//@ default   MWG=16 NWG=16 KWG=32 MDIMC=16 NDIMC=16 MDIMA=16 NDIMB=16 KWI=2 VWM=1 VWN=1 STRM=0 STRN=0 SA=0 SB=0 PRECISION=32
//@ reference gemm_reference
//@ block     8, 8
//@ grid      m / 8, n / 8
//@ args      i32 m, i32 n, i32 k, a, b, c
//@ tolerance scale 1e-5
//@ metric    gflops 2 * m * n * k / time_ns

#include "../sources/KTT/Examples/ClTuneGemm/ClTuneGemmReference.cu"
#include "../sources/KTT/Examples/ClTuneGemm/ClTuneGemm.cu"
