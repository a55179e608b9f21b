// Right, but its compiler is busy with it for minutes, and gets a SIGSEGV from the test.
//
//@ kernel   crashes_the_compiler
//@ op       transpose
//@ where    elem_size = 4 AND align >= 4
//@ block    64
//@ grid     ceil_div(cols, 64), rows
//@ args     dst, src, i64 cols, i64 lds, i64 ldd

#include "minutes.cuh"

extern "C" __global__ void crashes_the_compiler(unsigned int *dst, const unsigned int *src, long long cols,
                                                long long lds, long long ldd) {
    const long long col = blockIdx.x * 64ll + threadIdx.x, row = blockIdx.y;
    TAKE_MINUTES
    if (col < cols)
        dst[col * ldd + row] = src[row * lds + col];
}
