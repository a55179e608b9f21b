// The inclusive prefix sum of a vector. The first kernel scans chunks, the second scans the sums of chunks, and the
// third adds these to the chunks. A vector of one chunk needs the first kernel only; `when` leaves out the others.
//
//@ kernel    scan_chunks
//@ problem   n 16777216
//@ buffer    x i32 n in uniform -100 100
//@ buffer    y i32 n out
//@ buffer    sums i32 ceil_div(n, 256) + 1 scratch
//@ param     THREADS 128 256 512 1024
//@ param     ITEMS 2 4 8 16
//@ let       chunk THREADS * ITEMS
//@ let       chunks ceil_div(n, chunk)
//@ block     THREADS
//@ grid      chunks
//@ args      y, sums, x, i64 n
//@ kernel    scan_sums
//@ when      chunks > 1
//@ block     1024
//@ grid      1
//@ args      sums, i64 chunks
//@ kernel    add_sums
//@ when      chunks > 1
//@ block     THREADS
//@ grid      chunks
//@ args      y, sums, i64 n
//@ default   THREADS=256 ITEMS=8
//@ reference scan_reference
//@ block     1024
//@ grid      1
//@ args      y, x, i64 n
//@ metric    gbps 8 * n / time_ns

// The prefix sum of one number of each thread of the block; *total gets the sum of all.
static __device__ int scan_block(int v, int *total) {
    __shared__ int warps[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int d = 1; d < 32; d *= 2) {
        const int other = __shfl_up_sync(0xffffffffu, v, d);
        v += lane >= d ? other : 0;
    }
    if (lane == 31)
        warps[warp] = v;
    __syncthreads();
    int before = 0;
    *total = 0;
    for (int k = 0; k < (int)blockDim.x / 32; k++) {
        before += k < warp ? warps[k] : 0;
        *total += warps[k];
    }
    __syncthreads();
    return v + before;
}

extern "C" __global__ void scan_chunks(int *y, int *sums, const int *x, long long n) {
    const long long first = (long long)blockIdx.x * THREADS * ITEMS + threadIdx.x * ITEMS;
    int v[ITEMS], total;
    for (int k = 0; k < ITEMS; k++)
        v[k] = (first + k < n ? x[first + k] : 0) + (k ? v[k - 1] : 0);
    const int before = scan_block(v[ITEMS - 1], &total) - v[ITEMS - 1];
    for (int k = 0; k < ITEMS; k++)
        if (first + k < n)
            y[first + k] = v[k] + before;
    if (threadIdx.x == 0)
        sums[blockIdx.x] = total;
}

extern "C" __global__ void scan_sums(int *sums, long long chunks) {
    int before = 0, total;
    for (long long first = 0; first < chunks; first += 1024) {
        const long long i = first + threadIdx.x;
        const int v = scan_block(i < chunks ? sums[i] : 0, &total);
        if (i < chunks)
            sums[i] = v + before;
        before += total;
    }
}

extern "C" __global__ void add_sums(int *y, const int *sums, long long n) {
    const long long first = (long long)blockIdx.x * THREADS * ITEMS;
    for (int k = threadIdx.x; k < THREADS * ITEMS && blockIdx.x > 0; k += THREADS)
        if (first + k < n)
            y[first + k] += sums[blockIdx.x - 1];
}

extern "C" __global__ void scan_reference(int *y, const int *x, long long n) {
    int before = 0, total;
    for (long long first = 0; first < n; first += 1024) {
        const long long i = first + threadIdx.x;
        const int v = scan_block(i < n ? x[i] : 0, &total);
        if (i < n)
            y[i] = v + before;
        before += total;
    }
}
