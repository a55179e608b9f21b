// KTT's fourth tutorial, an addition in an array of structs, by F. Petrovic and others.
//@ kernel    vectorAddition
//@ problem   n 16777216
//@ buffer    data f32x3 n inout uniform
//@ runtime   multiply_block_size 32 64 128 256
//@ where     n % multiply_block_size = 0
//@ block     multiply_block_size
//@ grid      n / multiply_block_size
//@ args      data
//@ default   multiply_block_size=32
//@ reference plain
//@ block     128
//@ grid      ceil_div(n, 128)
//@ args      data, i64 n

extern "C" __global__ void plain(float *data, long long n) {
    long long i = blockIdx.x * 128LL + threadIdx.x;
    if (i < n)
        data[3 * i + 2] = data[3 * i] + data[3 * i + 1];
}

extern "C" {
#include "../sources/KTT/Tutorials/04CustomArgumentTypes/CudaKernel.cu"
}
