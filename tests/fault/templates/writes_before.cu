// Right, but it also writes to the word before the destination.
//
//@ kernel   writes_before
//@ op       transpose
//@ where    elem_size = 4 AND align >= 4
//@ block    64
//@ grid     ceil_div(cols, 64), rows
//@ args     dst, src, i64 cols, i64 lds, i64 ldd

extern "C" __global__ void writes_before(unsigned int *dst, const unsigned int *src, long long cols, long long lds,
                                  long long ldd) {
    const long long col = blockIdx.x * 64ll + threadIdx.x, row = blockIdx.y;
    if (col < cols)
        dst[col * ldd + row] = src[row * lds + col];
    if (row == 0 && col == 0)
        dst[-1] = ~dst[-1];
}
