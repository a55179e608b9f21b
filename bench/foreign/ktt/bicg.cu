// KTT's fused kernel for BiCG, by J. Filipovic and others: y1 = A x1 and y2 = x2 A. It may overwrite A.
//@ kernel    bicgFused
//@ problem   m 8192
//@ problem   n 8192
//@ buffer    original f32 n * m in uniform 0 100
//@ buffer    a f32 n * m inout original
//@ buffer    x1 f32 m in uniform 0 100
//@ buffer    x2 f32 n in uniform 0 100
//@ buffer    y1 f32 iif(ATOMICS = 1, n, n * (m / TILE)) inout zeros
//@ buffer    y2 f32 iif(ATOMICS = 1, m, m * (n / ROWS_PROCESSED)) inout zeros
//@ buffer    right1 f32 n in
//@ buffer    right2 f32 m in
//@ param     FUSED 2
//@ param     BICG_BATCH 1 2 4 8 16 32 64
//@ param     USE_SHARED_MATRIX 0 1
//@ param     USE_SHARED_VECTOR_1 0 1
//@ param     USE_SHARED_VECTOR_2 0 1
//@ param     USE_SHARED_REDUCTION_1 0 1
//@ param     USE_SHARED_REDUCTION_2 0 1
//@ param     ATOMICS 0 1
//@ param     UNROLL_BICG_STEP 0 1
//@ param     ROWS_PROCESSED 128 256 512 1024
//@ param     TILE 16 32 64
//@ where     TILE * TILE / BICG_BATCH <= 1024 AND BICG_BATCH <= TILE
// Ours: with fewer rows of threads the kernel adds up what it did not compute.
//@ where     TILE / BICG_BATCH >= iif(TILE = 64, 4, 2)
//@ where     n % ROWS_PROCESSED = 0 AND m % TILE = 0
//@ block     TILE, TILE / BICG_BATCH
//@ grid      m / TILE, n / ROWS_PROCESSED
//@ args      a, x1, y1, x2, y2, i32 m, i32 n
//@ kernel    bicgReduction1
//@ when      ATOMICS = 0
//@ block     256
//@ grid      ceil_div(n, 256)
//@ args      i32 m, i32 n, y1
//@ kernel    bicgReduction2
//@ when      ATOMICS = 0
//@ block     256
//@ grid      ceil_div(m, 256)
//@ args      i32 m, i32 n, y2
//@ default   FUSED=2 BICG_BATCH=4 USE_SHARED_MATRIX=1 USE_SHARED_VECTOR_1=1 USE_SHARED_VECTOR_2=1 USE_SHARED_REDUCTION_1=1 USE_SHARED_REDUCTION_2=1 ATOMICS=1 UNROLL_BICG_STEP=1 ROWS_PROCESSED=512 TILE=32
//@ data      plain
//@ block     128
//@ grid      ceil_div(max(m, n), 128)
//@ args      original, x1, right1, x2, right2, i32 m, i32 n
//@ verify    difference
//@ block     128
//@ grid      ceil_div(max(m, n), 128)
//@ args      error, y1, right1, y2, right2, i32 m, i32 n
//@ limit     1e-4

extern "C" __global__ void plain(const float *a, const float *x1, float *y1, const float *x2, float *y2, int m, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    double sum1 = 0, sum2 = 0;
    for (int j = 0; j < m && i < n; j++)
        sum1 += (double)a[(size_t)i * m + j] * x1[j];
    for (int j = 0; j < n && i < m; j++)
        sum2 += (double)a[(size_t)j * m + i] * x2[j];
    if (i < n)
        y1[i] = sum1;
    if (i < m)
        y2[i] = sum2;
}

// The largest relative error. Positive doubles compare like their bits.
extern "C" __global__ void difference(double *error, const float *y1, const float *right1, const float *y2, const float *right2, int m,
                                      int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    double e1 = i < n ? fabs((double)y1[i] / right1[i] - 1) : 0, e2 = i < m ? fabs((double)y2[i] / right2[i] - 1) : 0;
    atomicMax((unsigned long long *)error, __double_as_longlong(e1 < 1 ? e1 : 1));
    atomicMax((unsigned long long *)error, __double_as_longlong(e2 < 1 ? e2 : 1));
}

#include "../sources/KTT/Examples/Bicg/Bicg.cu"
