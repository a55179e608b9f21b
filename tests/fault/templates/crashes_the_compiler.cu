// Right; the stand-in for NVRTC is told to crash over it.
//
//@ kernel   crashes_the_compiler
//@ op       transpose
//@ where    elem_size = 4 AND align >= 4
//@ block    64
//@ grid     ceil_div(cols, 64), rows
//@ args     dst, src, i64 cols, i64 lds, i64 ldd

extern "C" __global__ void crashes_the_compiler(unsigned int *dst, const unsigned int *src, long long cols, long long lds,
                                  long long ldd) {
    const long long col = blockIdx.x * 64ll + threadIdx.x, row = blockIdx.y;
    if (col < cols)
        dst[col * ldd + row] = src[row * lds + col];
}
