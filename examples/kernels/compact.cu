// Keeps the numbers above a limit, in any order. The order differs from run to run, so no reference can say what y holds.
// A kernel counts and sums what was kept instead.
//
//@ kernel    compact
//@ problem   n 4194304
//@ buffer    x f32 n in uniform -1 1
//@ buffer    y f32 n out
//@ buffer    count u32 1 inout zeros
//@ scalar    above f32 0.25
//@ param     THREADS 128 256 512 1024
//@ param     ITEMS 1 2 4 8 16
//@ param     GATHER 0 1
//@ block     THREADS
//@ grid      ceil_div(n, THREADS * ITEMS)
//@ args      y, count, x, above, i32 n
//@ default   THREADS=256 ITEMS=4 GATHER=1
//@ verify    difference
//@ block     1024
//@ grid      1
//@ args      error, y, count, x, above, i32 n
//@ metric    gbps 6 * n / time_ns

// Each thread counts what it keeps. GATHER: a block adds to the count once. Otherwise each warp does.
extern "C" __global__ void __launch_bounds__(THREADS) compact(float *y, unsigned int *count, const float *x, float above, int n) {
    __shared__ unsigned int of_warp[THREADS / 32], first;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float v[ITEMS];
    unsigned int mine = 0;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const int i = (blockIdx.x * ITEMS + k) * THREADS + threadIdx.x;
        v[k] = i < n ? x[i] : above;
        mine += v[k] > above;
    }
    unsigned int before = mine;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const unsigned int other = __shfl_up_sync(0xffffffffu, before, d);
        before += lane >= d ? other : 0;
    }
    unsigned int place = 0;
    if (GATHER) {
        if (lane == 31)
            of_warp[warp] = before;
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned int sum = 0;
            for (int w = 0; w < THREADS / 32; w++) {
                const unsigned int held = of_warp[w];
                of_warp[w] = sum;
                sum += held;
            }
            first = atomicAdd(count, sum);
        }
        __syncthreads();
        place = first + of_warp[warp];
    } else {
        if (lane == 31)
            place = atomicAdd(count, before);
        place = __shfl_sync(0xffffffffu, place, 31);
    }
    place += before - mine;
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        if (v[k] > above)
            y[place++] = v[k];
}

// A number's part of a sum that does not depend on the order.
static __device__ unsigned long long mixed(float v) {
    const unsigned int bits = __float_as_uint(v) * 2654435761u;
    return (unsigned long long)(bits ^ bits >> 15) * 0x9e3779b97f4a7c15ull;
}

// 1 for a wrong count or sum.
extern "C" __global__ void difference(double *error, const float *y, const unsigned int *count, const float *x, float above,
                                      int n) {
    __shared__ unsigned long long should, is;
    __shared__ unsigned int kept;
    if (threadIdx.x == 0)
        should = is = kept = 0;
    __syncthreads();
    unsigned long long sum = 0, found = 0;
    unsigned int mine = 0;
    for (int i = threadIdx.x; i < n; i += 1024) {
        mine += x[i] > above;
        sum += x[i] > above ? mixed(x[i]) : 0;
        found += i < *count ? mixed(y[i]) : 0;
    }
    atomicAdd(&kept, mine);
    atomicAdd(&should, sum);
    atomicAdd(&is, found);
    __syncthreads();
    if (threadIdx.x == 0)
        *error = kept != *count || should != is;
}
