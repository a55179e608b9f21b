// A copy of so many bytes: what everything that moves bytes is compared with.
//
//@ defines   copy
//@ problem   bytes      268435456
//@ sample    bytes=268435456
//@ sample    bytes=268435455
//@ moves     bytes
//@ buffer    src u8 bytes in  random
//@ buffer    dst u8 bytes out
//@ metric    gbps 2 * bytes / time_ns
//
//@ reference copy_reference
//@ block     256
//@ grid      min(ceil_div(bytes, 4096), 65536)
//@ args      dst, src, i64 bytes

extern "C" __global__ void copy_reference(unsigned char *dst, const unsigned char *src, long long bytes) {
    const long long words = bytes / 16, threads = (long long)gridDim.x * blockDim.x;
    const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (long long i = first; i < words; i += threads)
        ((uint4 *)dst)[i] = ((const uint4 *)src)[i];
    for (long long i = words * 16 + first; i < bytes; i += threads)
        dst[i] = src[i];
}
