// Never ends.
//
//@ kernel   hangs
//@ op       transpose
//@ where    elem_size = 4 AND align >= 4
//@ block    64
//@ grid     ceil_div(cols, 64), rows
//@ args     dst, src, i64 cols, i64 lds, i64 ldd

#ifdef __HOSTCUDA__ // waits without work for the CPU
extern "C" int usleep(unsigned us);
#else
#define usleep(us) __nanosleep(1000 * (us))
#endif

extern "C" __global__ void hangs(unsigned int *dst, const unsigned int *src, long long cols, long long lds,
                                  long long ldd) {
    const long long col = blockIdx.x * 64ll + threadIdx.x, row = blockIdx.y;
    while (*(volatile unsigned int *)&dst[0] || cols)
        usleep(1000);
    dst[col * ldd + row] = src[row * lds + col];
}
