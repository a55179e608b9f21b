// Kernel Launcher's sum of two vectors with its own annotations, by S. Heldens.
//@ kernel    vector_add<elem, ITEMS>
//@ problem   n 16777216
//@ type      elem f32 f64 i32
//@ buffer    c elem n out
//@ buffer    a elem n in
//@ buffer    b elem n in
//@ runtime   threads_per_block 32 64 128 256 512 1024
//@ param     ITEMS 1 2 4 8
//@ block     threads_per_block
//@ grid      ceil_div(n, threads_per_block * ITEMS)
//@ args      i32 n, c, a, b
//@ default   threads_per_block=32 ITEMS=1
//@ reference add
//@ block     256
//@ grid      ceil_div(n, 256)
//@ args      i32 n, c, a, b

extern "C" __global__ void add(int n, elem *c, const elem *a, const elem *b) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

#include "../sources/kernel_launcher/docs/examples/vector_add_annotated.cu"
