// A plain transpose. Its configurations differ in a number only. Tests let some of them fail.
//
//@ kernel   faulty
//@ op       transpose
//@ param    KIND 0 1 2 3 4 5 6 7 8 9 10 11
//@ where    elem_size = 4 AND align >= 4
//@ block    64
//@ grid     ceil_div(cols, 64), rows
//@ args     dst, src, i64 cols, i64 lds, i64 ldd
//@ default  KIND=11

extern "C" __global__ void faulty(unsigned int *dst, const unsigned int *src, long long cols, long long lds,
                                  long long ldd) {
    const long long col = blockIdx.x * 64ll + threadIdx.x, row = blockIdx.y;
    if (col < cols)
        dst[col * ldd + row] = src[row * lds + col];
}
