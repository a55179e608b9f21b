// KTT's products of many small matrices, by F. Petrovic and others.
//@ kernel    gemm_batch
//@ problem   batch 65536
//@ problem   a 16
//@ problem   b 16
//@ problem   c 16
//@ buffer    srca f32 batch * a * b in uniform 0 10
//@ buffer    srcb f32 batch * c * a in uniform 0 10
//@ buffer    dst f32 batch * c * b out
//@ derived   SIZE_A a
//@ derived   SIZE_B b
//@ derived   SIZE_C c
//@ param     GROUP_SIZE_Y 1 2 4 8 16 32
//@ param     GROUP_SIZE_Z 1 2 4 8 16 32 64
//@ param     CACHING_STRATEGY 0 1 2
//@ param     PADD_AA 0 1
//@ param     PADD_AB 0 1
//@ param     PADD_C 0 1 2 3
//@ param     DIRECT_WRITE 0 1
//@ param     UNROLL_K 0 1
//@ let       ab (a + PADD_AA) * (b + PADD_AB)
//@ let       results (1 - DIRECT_WRITE) * c * b
//@ where     PADD_C IN (0, c % 4)
//@ where     GROUP_SIZE_Y <= b
//@ where     PADD_AA = 0 AND PADD_AB = 0 AND PADD_C = 0 OR CACHING_STRATEGY > 0
//@ where     DIRECT_WRITE = 1 OR CACHING_STRATEGY > 0
//@ where     UNROLL_K = 0 OR CACHING_STRATEGY = 2
// As in KTT's script, this leaves out CACHING_STRATEGY=0.
//@ where     CACHING_STRATEGY = 1 AND (ab + c * a + results) * GROUP_SIZE_Z < 12288 OR CACHING_STRATEGY = 2 AND (ab + iif(GROUP_SIZE_Y = 1, 0, c * a) + results) * GROUP_SIZE_Z < 12288
//@ where     (c + PADD_C) * GROUP_SIZE_Y * GROUP_SIZE_Z BETWEEN 32 AND 1023
//@ where     batch % GROUP_SIZE_Z = 0
//@ block     c + PADD_C, GROUP_SIZE_Y, GROUP_SIZE_Z
//@ grid      batch / GROUP_SIZE_Z
//@ args      srca, srcb, dst, i32 batch
//@ default   GROUP_SIZE_Y=1 GROUP_SIZE_Z=2 CACHING_STRATEGY=1 PADD_AA=0 PADD_AB=0 PADD_C=0 DIRECT_WRITE=1 UNROLL_K=0
//@ reference batch_reference
//@ block     c, b
//@ grid      batch
//@ args      srca, srcb, dst, i32 a
//@ tolerance rel 1e-5
//@ metric    gflops 2 * a * b * c * batch / time_ns

extern "C" __global__ void batch_reference(const float *A, const float *B, float *C, int a) {
    int c = blockDim.x, b = blockDim.y, i = blockIdx.x, j = threadIdx.x, k = threadIdx.y;
    float sum = 0;
    for (int l = 0; l < a; l++)
        sum += A[(i * b + k) * a + l] * B[(i * a + l) * c + j];
    C[(i * b + k) * c + j] = sum;
}
#include "../sources/KTT/Examples/Legacy/GemmBatch/Gemm.cu"
