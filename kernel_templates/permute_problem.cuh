// The problem of a permutation as constants, and what all its templates share.

constexpr permute_shape shape = {
    ELEM_SIZE,
    ALIGN,
    {DIM0, DIM1, DIM2, DIM3, DIM4, DIM5, DIM6, DIM7, DIM8, DIM9, DIM10, DIM11, DIM12, DIM13, DIM14, DIM15},
    {STRIDE0, STRIDE1, STRIDE2, STRIDE3, STRIDE4, STRIDE5, STRIDE6, STRIDE7, STRIDE8, STRIDE9, STRIDE10, STRIDE11, STRIDE12,
     STRIDE13, STRIDE14, STRIDE15}};

// Bytes of a vector: as asked or, by default, a word.
static __device__ constexpr int permute_vector(int asked, int widest) {
    const int bytes = asked ? asked : ELEM_SIZE > 4 ? ELEM_SIZE : 4;
    return bytes < widest ? bytes : widest;
}

// Elements of the source from its first to its last one.
static __device__ constexpr long long permute_reach() {
    long long n = 1;
    for (int k = 0; k < PERMUTE_DIMS; k++)
        n += (shape.dim[k] - 1) * shape.stride[k];
    return n;
}

template <bool> struct permute_counts { typedef unsigned long long type; };
template <> struct permute_counts<true> { typedef unsigned int type; };

static __device__ constexpr int permute_log2(unsigned n) {
    int log = 0;
    while ((1ull << log) < n)
        log++;
    return log;
}

// n / D, of 32 bits for n below 2^31, by a multiplication. The compiler would divide small numbers in 16 bits, with twice the
// instructions.
template <class T, T D> static __device__ T permute_div(T n) {
    if constexpr (sizeof(T) == 8)
        return n / D;
    else if constexpr ((D & (D - 1)) == 0)
        return n >> permute_log2(D);
    else
        return __umulhi(n, (unsigned)(((1ull << (31 + permute_log2(D))) + D - 1) / D)) >> (permute_log2(D) - 1);
}

// A thread has at most so many loads in flight.
constexpr int permute_batch = 16;

// Elements below a word are read without a hint.
static __device__ unsigned char fetch(const unsigned char *p) {
    return *p;
}
static __device__ unsigned short fetch(const unsigned short *p) {
    return *p;
}

// With KEEP, a run of so many elements lies in at most so many lines. All tiles that have part of a line let it go, or the last of
// them to read it would keep it.
constexpr int permute_line = 128 / ELEM_SIZE;
static __device__ constexpr int permute_lines(int run) {
    return (run + permute_line - 2) / permute_line + 1;
}
static __device__ void permute_let_go(const elem *in) {
#ifdef __HOSTCUDA__
    *(const volatile char *)in; // for the tests' guards
#endif
    let_go((const void *)((unsigned long long)in & ~127ull));
}
