// Blocks of 1024 threads that hold 100 words each, where 64 registers a thread are left.
//
//@ kernel   too_many_registers
//@ op       transpose
//@ where    elem_size = 4 AND align >= 4
//@ block    1024
//@ grid     ceil_div(cols, 1024), rows
//@ args     dst, src, i64 cols, i64 lds, i64 ldd

extern "C" __global__ void too_many_registers(unsigned int *dst, const unsigned int *src, long long cols, long long lds,
                                  long long ldd) {
    const long long col = blockIdx.x * 1024ll + threadIdx.x, row = blockIdx.y;
    unsigned int held[100];
#pragma unroll
    for (int i = 0; i < 100; i++)
        held[i] = *(const volatile unsigned int *)&src[(threadIdx.x + i) % cols];
    __syncthreads();
    unsigned int zero = 0;
#pragma unroll
    for (int i = 99; i >= 0; i--)
        zero = (zero << 1 | zero >> 31) ^ held[i] * (2u * i + 1);
    if (col < cols)
        dst[col * ldd + row] = src[row * lds + col] ^ zero;
}
