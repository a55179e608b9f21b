// Kernel Launcher's sum of two vectors, by S. Heldens. The code has no blocks_per_sm: it only limits threads_per_block.
//@ kernel    vector_add<THREADS, ITEMS, STRATEGY>
//@ problem   n 16777216
//@ buffer    c f32 n out
//@ buffer    a f32 n in normal
//@ buffer    b f32 n in normal
//@ param     THREADS 32 64 128 256 512 1024
//@ runtime   blocks_per_sm 1 2 3 4 5 6 7 8
//@ param     ITEMS 1 2 3 4 5 6 7 8
//@ param     STRATEGY 0 1 2
//@ where     THREADS * blocks_per_sm <= 2048
//@ block     THREADS
//@ grid      ceil_div(n, THREADS * ITEMS)
//@ args      i32 n, c, a, b
//@ default   THREADS=32 blocks_per_sm=1 ITEMS=1 STRATEGY=0
//@ reference add
//@ block     256
//@ grid      ceil_div(n, 256)
//@ args      i32 n, c, a, b

extern "C" __global__ void add(int n, float *c, const float *a, const float *b) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

#include "../sources/kernel_launcher/examples/vector_add/kernel.cu"
