// The second derivative of a sampled function to eighth order. y[i] is a weighted sum of x[i - RADIUS] to x[i +
// RADIUS]; values outside count as 0. A thread makes POINTS neighbouring results from a window of POINTS + 2 * RADIUS
// values in registers. Windows overlap, so several threads need the same value. HALO says where they get it: from the
// L1 cache, or from shared memory that the block has filled first.
//
// RADIUS has one value. There is nothing to tune, but expressions can use the constant, too.
//
//@ kernel    stencil_1d
//@ problem   n 134217728
//@ buffer    x f32 n in normal
//@ buffer    y f32 n out
//@ param     RADIUS  4
//@ param     HALO    cache shared
//@ param     POINTS  1 2 4 8
//@ param     THREADS 64 128 256 512 1024
//@ block     THREADS
//@ grid      ceil_div(n, THREADS * POINTS)
//@ args      y, x, i64 n
//@ default   RADIUS=4 HALO=shared POINTS=4 THREADS=256
//@ reference stencil_1d_reference
//@ block     256
//@ grid      ceil_div(n, 256)
//@ args      y, x, i64 n
//@ tolerance abs 1e-5 rel 1e-5
//@ metric    gbps   2 * n * 4 / time_ns
//@ metric    gflops (3 * RADIUS + 1) * n / time_ns

__constant__ float weights[RADIUS + 1] = {-205.0f / 72, 8.0f / 5, -1.0f / 5, 8.0f / 315, -1.0f / 560};
enum { cache, shared };

// The widest access that the beginning of every window is aligned to.
#define VEC    (POINTS % 4 == 0 ? 4 : POINTS)
#define WINDOW (POINTS + 2 * RADIUS)
#define TILE   (THREADS * POINTS)
struct __align__(4 * VEC) pack {
    float v[VEC];
};

// The values from x[i] on; i is a multiple of VEC.
static __device__ pack values(const float *x, long long i, long long n) {
    if (i >= 0 && i + VEC <= n)
        return *(const pack *)(x + i);
    pack p;
#pragma unroll
    for (int e = 0; e < VEC; e++)
        p.v[e] = i + e >= 0 && i + e < n ? x[i + e] : 0.0f;
    return p;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    stencil_1d(float *__restrict__ y, const float *__restrict__ x, long long n) {
    const long long block = (long long)blockIdx.x * TILE; // the first point of this block
    const int thread = threadIdx.x * POINTS;              // and of this thread, counted from there
    pack window[WINDOW / VEC];

    if (HALO == shared) {
        __shared__ pack tile[(TILE + 2 * RADIUS) / VEC];
        for (int i = threadIdx.x; i < (TILE + 2 * RADIUS) / VEC; i += THREADS)
            tile[i] = values(x, block - RADIUS + i * VEC, n);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < WINDOW / VEC; i++)
            window[i] = tile[thread / VEC + i];
    } else {
#pragma unroll
        for (int i = 0; i < WINDOW / VEC; i++)
            window[i] = values(x, block - RADIUS + thread + i * VEC, n);
    }

#define AT(i) window[(i) / VEC].v[(i) % VEC]
#pragma unroll
    for (int i = 0; i < POINTS; i += VEC) {
        pack result;
#pragma unroll
        for (int e = 0; e < VEC; e++) {
            const int centre = RADIUS + i + e;
            result.v[e] = weights[0] * AT(centre);
#pragma unroll
            for (int r = 1; r <= RADIUS; r++)
                result.v[e] += weights[r] * (AT(centre - r) + AT(centre + r));
        }
        const long long to = block + thread + i;
        if (to + VEC <= n)
            *(pack *)(y + to) = result;
        else
#pragma unroll
            for (int e = 0; e < VEC; e++)
                if (to + e < n)
                    y[to + e] = result.v[e];
    }
}

extern "C" __global__ void stencil_1d_reference(float *y, const float *x, long long n) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float sum = weights[0] * x[i];
    for (int r = 1; r <= RADIUS; r++)
        sum += weights[r] * ((i - r >= 0 ? x[i - r] : 0.0f) + (i + r < n ? x[i + r] : 0.0f));
    y[i] = sum;
}
