// Writes where no memory is.
//
//@ kernel   writes_far_away
//@ op       transpose
//@ where    elem_size = 4 AND align >= 4
//@ block    64
//@ grid     ceil_div(cols, 64), rows
//@ args     dst, src, i64 cols, i64 lds, i64 ldd

extern "C" __global__ void writes_far_away(unsigned int *dst, const unsigned int *src, long long cols, long long lds,
                                  long long ldd) {
    const long long col = blockIdx.x * 64ll + threadIdx.x, row = blockIdx.y;
    if (col < cols)
        dst[col * ldd + row - (1ll << 40)] = src[row * lds + col];
}
