// Right, but it does everything sixty-four times.
//
//@ kernel   good_but_slow
//@ op       transpose
//@ where    elem_size = 4 AND align >= 4
//@ block    64
//@ grid     ceil_div(cols, 64), rows
//@ args     dst, src, i64 cols, i64 lds, i64 ldd

extern "C" __global__ void good_but_slow(unsigned int *dst, const unsigned int *src, long long cols, long long lds,
                                  long long ldd) {
    const long long col = blockIdx.x * 64ll + threadIdx.x, row = blockIdx.y;
    for (int i = 0; i < 64; i++)
        if (col < cols)
            *(volatile unsigned int *)&dst[col * ldd + row] = src[row * lds + col];
}
