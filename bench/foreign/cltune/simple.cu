// CLTune's vector addition, by Cedric Nugteren.
//@ kernel    vector_add
//@ problem   n 16777216
//@ buffer    a f32 n in uniform
//@ buffer    b f32 n in uniform
//@ buffer    c f32 n out
//@ param     GROUP_SIZE 1 2 4 8 16 32 64 128 256 512 1024 2048
//@ block     GROUP_SIZE
//@ grid      ceil_div(n, GROUP_SIZE)
//@ args      i32 n, a, b, c
//@ default   GROUP_SIZE=128
//@ reference add_reference
//@ block     256
//@ grid      ceil_div(n, 256)
//@ args      i32 n, a, b, c
//@ metric    gbps 12 * n / time_ns

extern "C" __global__ void add_reference(int n, const float *a, const float *b, float *c) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
#include "../sources/CLTune/samples/simple/simple_kernel.cu"
