// 256 KiB of static shared memory, more than any GPU has: 48 KiB are possible, for sm_90a 227.
//
//@ kernel   too_much_shared
//@ op       transpose
//@ where    elem_size = 4 AND align >= 4
//@ block    64
//@ grid     ceil_div(cols, 64), rows
//@ args     dst, src, i64 cols, i64 lds, i64 ldd

extern "C" __global__ void too_much_shared(unsigned int *dst, const unsigned int *src, long long cols, long long lds,
                                  long long ldd) {
    const long long col = blockIdx.x * 64ll + threadIdx.x, row = blockIdx.y;
    __shared__ unsigned int held[65536];
    for (int i = threadIdx.x; i < 65536; i += 64)
        held[i] = i;
    __syncthreads();
    if (col < cols)
        dst[col * ldd + row] = src[row * lds + col] + held[threadIdx.x * 7] - threadIdx.x * 7;
}
