// y = a * x + y. An access is VEC bytes wide, and a thread has UNROLL of them in flight for each vector. PER_SM blocks
// for each SM walk over the vectors. If PER_SM is 0, there are as many blocks as cover the vectors once. HINT is the
// cache hint: none, or that no byte is used again.
//
//@ kernel    saxpy
//@ problem   n 67108864
//@ type      elem f32 f64
//@ buffer    x elem n in
//@ buffer    y elem n inout
//@ scalar    a elem 2.5
//@ param     VEC     4 8 16
//@ param     UNROLL  1 2 4
//@ param     THREADS 128 256 512 1024
//@ param     HINT    plain streaming
//@ runtime   PER_SM  0 2 4 8
//@ where     VEC >= elem_size
//@ where     PER_SM * THREADS <= 2048
//@ block     THREADS
//@ grid      iif(PER_SM > 0, PER_SM * sm_count, ceil_div(n * elem_size, VEC * UNROLL * THREADS))
//@ args      y, x, a, i64 n
//@ default   VEC=16 UNROLL=1 THREADS=256 HINT=plain PER_SM=0
//@ reference saxpy_reference
//@ block     256
//@ grid      ceil_div(n, 256)
//@ args      y, x, a, i64 n
//@ tolerance rel 1e-6
//@ metric    gbps   3 * n * elem_size / time_ns
//@ metric    gflops 2 * n / time_ns

#if VEC == 4
typedef unsigned int word;
#elif VEC == 8
typedef uint2 word;
#else
typedef uint4 word;
#endif
#define PER_PACK (VEC / ELEM_SIZE)

// The intrinsics for cache hints take CUDA's own vector types only. The arithmetic needs elements.
union pack {
    word all;
    elem v[PER_PACK];
};

enum { plain, streaming };

static __device__ word load(const word *address) {
    return HINT == streaming ? __ldcs(address) : *address;
}

static __device__ void store(word *address, word value) {
    if (HINT == streaming)
        __stcs(address, value);
    else
        *address = value;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    saxpy(elem *__restrict__ y, const elem *__restrict__ x, elem a, long long n) {
    const long long packs = n / PER_PACK;
    const long long step = (long long)gridDim.x * (THREADS * UNROLL);
    const word *xs = (const word *)x;
    word *ys = (word *)y;
    for (long long i = (long long)blockIdx.x * (THREADS * UNROLL) + threadIdx.x; i < packs; i += step) {
        pack p[UNROLL], q[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            if (i + u * THREADS < packs) {
                p[u].all = load(&xs[i + u * THREADS]);
                q[u].all = load(&ys[i + u * THREADS]);
            }
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            if (i + u * THREADS < packs) {
#pragma unroll
                for (int e = 0; e < PER_PACK; e++)
                    q[u].v[e] += a * p[u].v[e];
                store(&ys[i + u * THREADS], q[u].all);
            }
    }
    // The rest, if n is no multiple of a pack.
    const long long rest = packs * PER_PACK + threadIdx.x;
    if (blockIdx.x == 0 && rest < n)
        y[rest] += a * x[rest];
}

extern "C" __global__ void saxpy_reference(elem *y, const elem *x, elem a, long long n) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += a * x[i];
}
