// Reads and writes VEC bytes an access. A thread has UNROLL accesses of each array in flight before it computes.
//
//@ kernel   axpby_vector
//@ op       axpby
//@ param    VEC      4 8 16
//@ param    UNROLL   1 2 4
//@ runtime  THREADS  128 256 512 1024
//@ runtime  STREAM   0 1
//@ where    VEC >= elem_size
//@ block    THREADS
//@ grid     ceil_div(n * elem_size, VEC * UNROLL * THREADS)
//@ args     y, x, a, b, i64 n, i32 STREAM
//@ default  VEC=16 UNROLL=2 THREADS=256 STREAM=0

#if VEC == 4
typedef unsigned int word;
#elif VEC == 8
typedef uint2 word;
#else
typedef uint4 word;
#endif
#define PER_WORD (VEC / ELEM_SIZE)

union pack {
    word all;
    T each[PER_WORD];
};

extern "C" __global__ void __launch_bounds__(1024)
    axpby_vector(T *__restrict__ y, const T *__restrict__ x, T a, T b, long long n, int stream) {
    const long long words = n / PER_WORD, threads = blockDim.x;
    const long long first = (long long)blockIdx.x * (threads * UNROLL) + threadIdx.x;
    const word *xs = (const word *)x;
    word *ys = (word *)y;
    pack p[UNROLL], q[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
        if (first + u * threads < words) {
            p[u].all = __ldcs(&xs[first + u * threads]);
            q[u].all = ys[first + u * threads];
        }
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
        if (first + u * threads < words) {
#pragma unroll
            for (int e = 0; e < PER_WORD; e++)
                q[u].each[e] = a * p[u].each[e] + b * q[u].each[e];
            if (stream)
                __stcs(&ys[first + u * threads], q[u].all);
            else
                ys[first + u * threads] = q[u].all;
        }
    // The last elements, where n is no multiple of a word.
    const long long rest = words * PER_WORD + threadIdx.x;
    if (blockIdx.x == 0 && rest < n)
        y[rest] = a * x[rest] + b * y[rest];
}
