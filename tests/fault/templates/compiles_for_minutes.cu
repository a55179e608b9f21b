// Right, once the preprocessor is through with a macro that doubles twenty-four times.
//
//@ kernel   compiles_for_minutes
//@ op       transpose
//@ where    elem_size = 4 AND align >= 4
//@ block    64
//@ grid     ceil_div(cols, 64), rows
//@ args     dst, src, i64 cols, i64 lds, i64 ldd

#define A0
#define A1 A0 A0
#define A2 A1 A1
#define A3 A2 A2
#define A4 A3 A3
#define B1 A4 A4
#define B2 B1 B1
#define B3 B2 B2
#define B4 B3 B3
#define C1 B4 B4
#define C2 C1 C1
#define C3 C2 C2
#define C4 C3 C3
#define D1 C4 C4
#define D2 D1 D1
#define D3 D2 D2
#define D4 D3 D3
#define E1 D4 D4
#define E2 E1 E1
#define E3 E2 E2
#define E4 E3 E3
#define F1 E4 E4
#define F2 F1 F1
#define F3 F2 F2
#define F4 F3 F3
#ifdef __HOSTCUDA__ // which is told to be slow
#define TAKE_MINUTES
#else
#define TAKE_MINUTES F4
#endif

extern "C" __global__ void compiles_for_minutes(unsigned int *dst, const unsigned int *src, long long cols,
                                                long long lds, long long ldd) {
    const long long col = blockIdx.x * 64ll + threadIdx.x, row = blockIdx.y;
    TAKE_MINUTES
    if (col < cols)
        dst[col * ldd + row] = src[row * lds + col];
}
