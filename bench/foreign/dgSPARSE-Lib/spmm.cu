// Sparse times dense with rows in shared memory, of dgSPARSE, by G. Huang and others.
//@ kernel    csrspmm_rowcaching_rowbalance_kernel<coarsen>
//@ problem   m 65536
//@ problem   n 128
//@ problem   k 65536
//@ buffer    indptr i32 m + 1 in index int(32 * i + 37 * i % 17)
//@ buffer    indices i32 32 * m + 16 in uniform 0 k-1
//@ buffer    values f32 32 * m + 16 in normal
//@ buffer    b f32 k * n in normal
//@ buffer    c f32 m * n out
//@ param     coarsen 1 2 4 as template
//@ runtime   threads 32 64 128 256 512 1024
//@ block     threads
//@ grid      ceil_div(m, threads / 32), ceil_div(n, 32 * coarsen)
//@ shared    8 * threads
//@ args      i32 m, i32 n, i32 k, indptr, indices, values, b, c
//@ default   coarsen=2 threads=256
//@ reference product
//@ block     32, 8
//@ grid      ceil_div(n, 32), ceil_div(m, 8)
//@ args      i32 m, i32 n, indptr, indices, values, b, c
//@ tolerance scale 1e-5

#include "../sources/dgSPARSE-Lib/src/ge-spmm/csrspmm_rowcaching.cu"

extern "C" __global__ void product(int m, int n, const int *indptr, const int *indices, const float *values, const float *b, float *c) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
    if (y >= m)
        return;
    for (int p = indptr[y]; p < indptr[y + 1] && x < n; p++)
        sum += values[p] * b[indices[p] * n + x];
    if (x < n)
        c[y * n + x] = sum;
}
