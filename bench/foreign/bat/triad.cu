// BAT's triad kernel, from SHOC, by K. Spafford and others.
//
//@ kernel    triad
//@ problem   n 16777216
//@ buffer    a f32 n in
//@ buffer    b f32 n in
//@ buffer    c f32 n out
//@ scalar    s f32 1.75
//@ param     BLOCK_SIZE 32 64 96 128 160 192 224 256 288 320 352 384 416 448 480 512 544 576 608 640 672 704 736 768 800 832 864 896 928 960 992 1024
//@ param     LOOP_UNROLL_TRIAD 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
//@ param     WORK_PER_THREAD 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
//@ where     LOOP_UNROLL_TRIAD <= WORK_PER_THREAD
//@ block     BLOCK_SIZE
//@ grid      n / BLOCK_SIZE / WORK_PER_THREAD + 1
//@ args      a, b, c, s, i32 n
//@ default   BLOCK_SIZE=128 LOOP_UNROLL_TRIAD=1 WORK_PER_THREAD=1
//@ reference triad_reference
//@ block     256
//@ grid      ceil_div(n, 256)
//@ args      a, b, c, s, i32 n
//@ tolerance rel 1e-6
//@ metric    gbps 12 * n / time_ns

extern "C" __global__ void triad_reference(const float *a, const float *b, float *c, float s, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        c[i] = a[i] + s * b[i];
}

#include "../sources/BAT/batbench/benchmarks/TRIAD/triad_kernel.cu"
