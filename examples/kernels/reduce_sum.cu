// The sum of n numbers in two passes. In the first, PER_SM blocks for each SM walk over the vector and leave one
// partial sum each. In the second, one block adds those up. A thread has UNROLL accesses of VEC bytes in flight, and a
// separate sum for every number in them. So neither loads nor additions wait for each other. REDUCE says how the
// threads of a block add their sums. reduce_sum_once.cu needs one pass only.
//
//@ kernel    sum_parts
//@ problem   n 268435456
//@ type      elem f32 f64
//@ buffer    x elem n in uniform
//@ buffer    parts elem 32 * sm_count scratch
//@ buffer    total elem 1 out
//@ param     REDUCE  tree shuffle
//@ param     VEC     4 8 16
//@ param     UNROLL  1 2 4 8
//@ param     THREADS 128 256 512 1024
//@ runtime   PER_SM  1 2 4 8 16 32
//@ where     VEC >= elem_size
//@ where     PER_SM * THREADS BETWEEN 512 AND 4096
//@ block     THREADS
//@ grid      PER_SM * sm_count
//@ args      parts, x, i64 n
//@ kernel    sum_total                 launched after it, in the same stream
//@ block     THREADS
//@ grid      1
//@ args      total, parts, i32 PER_SM * sm_count
//@ default   REDUCE=shuffle VEC=16 UNROLL=4 THREADS=256 PER_SM=8
//@ reference sum_reference
//@ block     1024
//@ grid      1
//@ args      total, x, i64 n
//@ tolerance rel 1e-5
//@ metric    gbps n * elem_size / time_ns

#define PER_PACK (VEC / ELEM_SIZE)
struct __align__(VEC) pack {
    elem v[PER_PACK];
};

enum { tree, shuffle };

static __device__ elem warp_sum(elem sum) {
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, lanes);
    return sum;
}

// The sum of all threads' sums, for thread 0.
static __device__ elem block_sum(elem sum) {
    const int t = threadIdx.x;
    if (REDUCE == tree) { // halves the number of sums until there is one, with a barrier each time
        __shared__ elem sums[THREADS];
        sums[t] = sum;
        for (int half = THREADS / 2; half > 0; half /= 2) {
            __syncthreads();
            if (t < half)
                sums[t] += sums[t + half];
        }
        return t == 0 ? sums[0] : 0;
    }
    // Each warp adds up its 32 sums without shared memory. Then one warp adds those of all warps. There is one barrier.
    __shared__ elem sums[THREADS / 32];
    sum = warp_sum(sum);
    if (t % 32 == 0)
        sums[t / 32] = sum;
    __syncthreads();
    return t < 32 ? warp_sum(t < THREADS / 32 ? sums[t] : 0) : 0;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    sum_parts(elem *__restrict__ parts, const elem *__restrict__ x, long long n) {
    const long long packs = n / PER_PACK;
    const long long step = (long long)gridDim.x * (THREADS * UNROLL);
    const pack *from = (const pack *)x;
    pack sums[UNROLL] = {};
    long long i = (long long)blockIdx.x * (THREADS * UNROLL) + threadIdx.x;

    for (; i + (UNROLL - 1) * THREADS < packs; i += step) {
        pack held[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            held[u] = from[i + u * THREADS];
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
#pragma unroll
            for (int e = 0; e < PER_PACK; e++)
                sums[u].v[e] += held[u].v[e];
    }
    // The last round, which has only some of a thread's accesses.
    for (; i < packs; i += THREADS)
#pragma unroll
        for (int e = 0; e < PER_PACK; e++)
            sums[0].v[e] += from[i].v[e];

    elem sum = 0;
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
#pragma unroll
        for (int e = 0; e < PER_PACK; e++)
            sum += sums[u].v[e];
    const long long rest = packs * PER_PACK + threadIdx.x; // n is no multiple of a pack
    if (blockIdx.x == 0 && rest < n)
        sum += x[rest];

    sum = block_sum(sum);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(THREADS) sum_total(elem *total, const elem *parts, int count) {
    elem sum = 0;
    for (int i = threadIdx.x; i < count; i += THREADS)
        sum += parts[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        *total = sum;
}

// One block that adds in double: slow, and right to the last digit of a float.
extern "C" __global__ void sum_reference(elem *total, const elem *x, long long n) {
    __shared__ double sums[1024];
    double sum = 0;
    for (long long i = threadIdx.x; i < n; i += 1024)
        sum += x[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < 1024; i++)
            sum += sums[i];
        *total = (elem)sum;
    }
}
