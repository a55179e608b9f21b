// KTT's third tutorial, a vector addition, by F. Petrovic and others.
//@ kernel    vectorAddition
//@ problem   n 16777216
//@ buffer    a f32 n in uniform
//@ buffer    b f32 n in uniform
//@ buffer    result f32 n out
//@ scalar    scalar f32 3
//@ runtime   multiply_block_size 32 64 128 256
//@ where     n % multiply_block_size = 0
//@ block     multiply_block_size
//@ grid      n / multiply_block_size
//@ args      a, b, result, scalar
//@ default   multiply_block_size=32
//@ reference plain
//@ block     128
//@ grid      ceil_div(n, 128)
//@ args      a, b, result, scalar, i64 n

extern "C" __global__ void plain(const float *a, const float *b, float *result, float scalar, long long n) {
    long long i = blockIdx.x * 128LL + threadIdx.x;
    if (i < n)
        result[i] = a[i] + b[i] + scalar;
}

extern "C" {
#include "../sources/KTT/Tutorials/03KernelTuning/CudaKernel.cu"
}
