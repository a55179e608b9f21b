// Counts how many times each of 256 values occurs. Blocks count in shared memory, in one copy or several.
//
//@ kernel    histogram
//@ problem   n 67108864
//@ problem   bins 256
//@ buffer    x u32 n in uniform 0 bins-1
//@ buffer    counts u32 bins inout zeros
//@ param     THREADS 128 256 512 1024
//@ param     COPIES 1 2 4 8
//@ param     VEC 1 4
//@ runtime   PER_SM 1 2 4 8 16
//@ where     COPIES <= THREADS / 32 AND PER_SM * THREADS <= 2048
//@ block     THREADS
//@ grid      PER_SM * sm_count
//@ shared    COPIES * bins * 4
//@ args      counts, x, i64 n, i32 bins
//@ default   THREADS=256 COPIES=1 VEC=1 PER_SM=8
//@ reference histogram_reference
//@ block     256
//@ grid      1024
//@ args      counts, x, i64 n
//@ metric    gbps 4 * n / time_ns

extern "C" __global__ void histogram(unsigned *counts, const unsigned *x, long long n, int bins) {
    extern __shared__ unsigned shared[];
    unsigned *own = shared + threadIdx.x / 32 % COPIES * bins;
    for (int i = threadIdx.x; i < COPIES * bins; i += THREADS)
        shared[i] = 0;
    __syncthreads();
    const long long stride = (long long)gridDim.x * THREADS;
    long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
#if VEC == 4
    for (; 4 * i + 3 < n; i += stride) {
        const uint4 v = ((const uint4 *)x)[i];
        atomicAdd(&own[v.x], 1u);
        atomicAdd(&own[v.y], 1u);
        atomicAdd(&own[v.z], 1u);
        atomicAdd(&own[v.w], 1u);
    }
    i = n / 4 * 4 + (long long)blockIdx.x * THREADS + threadIdx.x;
#endif
    for (; i < n; i += stride)
        atomicAdd(&own[x[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < bins; b += THREADS) {
        unsigned sum = 0;
        for (int c = 0; c < COPIES; c++)
            sum += shared[c * bins + b];
        if (sum)
            atomicAdd(&counts[b], sum);
    }
}

extern "C" __global__ void histogram_reference(unsigned *counts, const unsigned *x, long long n) {
    for (long long i = blockIdx.x * 256 + threadIdx.x; i < n; i += (long long)gridDim.x * 256)
        atomicAdd(&counts[x[i]], 1u);
}
