// Right, once some ten million template instantiations are through, which take gigabytes: members make each a large one.
//
//@ kernel   eats_memory
//@ op       transpose
//@ where    elem_size = 4 AND align >= 4
//@ block    64
//@ grid     ceil_div(cols, 64), rows
//@ args     dst, src, i64 cols, i64 lds, i64 ldd

#ifdef __HOSTCUDA__ // which is told to fail
#define LEAVES 1
#else
#define EIGHT(name) name##0, name##1, name##2, name##3, name##4, name##5, name##6, name##7
template <unsigned long long PATH, int DEPTH> struct tree {
    int EIGHT(a), EIGHT(b), EIGHT(c), EIGHT(d), EIGHT(e), EIGHT(f), EIGHT(g), EIGHT(h);
    int EIGHT(i), EIGHT(j), EIGHT(k), EIGHT(l), EIGHT(m), EIGHT(n), EIGHT(o), EIGHT(p);
    int EIGHT(q), EIGHT(r), EIGHT(s), EIGHT(t), EIGHT(u), EIGHT(v), EIGHT(w), EIGHT(x);
    static const int leaves = tree<2 * PATH, DEPTH - 1>::leaves + tree<2 * PATH + 1, DEPTH - 1>::leaves;
};
template <unsigned long long PATH> struct tree<PATH, 0> {
    static const int leaves = 1;
};
#define LEAVES tree<1, 24>::leaves
#endif

extern "C" __global__ void eats_memory(unsigned int *dst, const unsigned int *src, long long cols,
                                                long long lds, long long ldd) {
    const long long col = blockIdx.x * 64ll + threadIdx.x, row = blockIdx.y;
    if (col < cols && LEAVES > 0)
        dst[col * ldd + row] = src[row * lds + col];
}
