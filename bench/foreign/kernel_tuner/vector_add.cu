// Kernel Tuner's sum of two vectors, by B. van Werkhoven.
//@ kernel    vector_add
//@ problem   n 10000000
//@ buffer    c f32 n out
//@ buffer    a f32 n in normal
//@ buffer    b f32 n in normal
//@ param     block_size_x 128 192 256 320 384 448 512 576 640 704 768 832 896 960 1024
//@ block     block_size_x
//@ grid      ceil_div(n, block_size_x)
//@ args      c, a, b, i32 n
//@ default   block_size_x=128
//@ reference add
//@ block     256
//@ grid      ceil_div(n, 256)
//@ args      c, a, b, i32 n

extern "C" __global__ void add(float *c, const float *a, const float *b, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

extern "C" {
#include "../sources/kernel_tuner/test/vector_add.cu"
}
