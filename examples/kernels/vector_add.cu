// z = x + y, the smallest kernel worth tuning. An access is VEC bytes wide, and a thread has UNROLL of them in flight
// for each vector. PER_SM blocks for each SM walk over the vectors. If PER_SM is 0, there are as many blocks as cover
// the vectors once.
//
//@ kernel    vector_add
//@ problem   n 67108864
//@ type      elem f32 f64
//@ buffer    x elem n in
//@ buffer    y elem n in
//@ buffer    z elem n out
//@ param     VEC     4 8 16
//@ param     UNROLL  1 2 4
//@ param     THREADS 128 256 512 1024
//@ runtime   PER_SM  0 2 4 8
//@ where     VEC >= elem_size
//@ where     PER_SM * THREADS <= 2048
//@ block     THREADS
//@ grid      iif(PER_SM > 0, PER_SM * sm_count, ceil_div(n * elem_size, VEC * UNROLL * THREADS))
//@ args      z, x, y, i64 n
//@ default   VEC=16 UNROLL=1 THREADS=256 PER_SM=0
//@ reference vector_add_reference
//@ block     256
//@ grid      ceil_div(n, 256)
//@ args      z, x, y, i64 n
//@ metric    gbps 3 * n * elem_size / time_ns

// VEC bytes that are loaded and stored at once. Vectors begin on multiples of VEC bytes, as cudaMalloc's do.
struct __align__(VEC) pack {
    elem v[VEC / ELEM_SIZE];
};
#define PER_PACK (VEC / ELEM_SIZE)

extern "C" __global__ void __launch_bounds__(THREADS)
    vector_add(elem *__restrict__ z, const elem *__restrict__ x, const elem *__restrict__ y, long long n) {
    const long long packs = n / PER_PACK;
    const long long step = (long long)gridDim.x * (THREADS * UNROLL);
    for (long long i = (long long)blockIdx.x * (THREADS * UNROLL) + threadIdx.x; i < packs; i += step) {
        pack a[UNROLL], b[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            if (i + u * THREADS < packs) {
                a[u] = ((const pack *)x)[i + u * THREADS];
                b[u] = ((const pack *)y)[i + u * THREADS];
            }
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            if (i + u * THREADS < packs) {
#pragma unroll
                for (int e = 0; e < PER_PACK; e++)
                    a[u].v[e] += b[u].v[e];
                ((pack *)z)[i + u * THREADS] = a[u];
            }
    }
    // The rest, if n is no multiple of a pack.
    const long long rest = packs * PER_PACK + threadIdx.x;
    if (blockIdx.x == 0 && rest < n)
        z[rest] = x[rest] + y[rest];
}

extern "C" __global__ void vector_add_reference(elem *z, const elem *x, const elem *y, long long n) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = x[i] + y[i];
}
