// The sum of each row. How many threads add decides the order of the additions, and with atomics every launch has
// its own.
//@ kernel    row_sums
//@ problem   rows 24
//@ problem   cols 300
//@ batch     rows
//@ buffer    x f32 rows * cols in uniform -1 1
//@ buffer    y f32 rows out
//@ param     THREADS 32 64 128
//@ param     ATOMIC 0 1
//@ param     UNROLL 1 2
//@ block     THREADS
//@ grid      rows
//@ args      y, x, i32 cols
//@ default   THREADS=64 ATOMIC=0 UNROLL=1
//@ reference right
//@ block     32
//@ grid      rows
//@ args      y, x, i32 cols
//@ tolerance abs 1e-3
//@ metric    gbps 4 * rows * cols / time_ns
extern "C" __global__ void row_sums(float *y, const float *x, int cols) {
    __shared__ float part[THREADS];
    __shared__ float whole;
    float s = 0;
#pragma unroll UNROLL
    for (int i = threadIdx.x; i < cols; i += THREADS)
        s += x[(long long)blockIdx.x * cols + i];
    part[threadIdx.x] = s;
    if (threadIdx.x == 0)
        whole = 0;
    __syncthreads();
    if (ATOMIC)
        atomicAdd(&whole, s);
    for (int k = THREADS / 2; k > 0 && !ATOMIC; k /= 2) {
        if (threadIdx.x < k)
            part[threadIdx.x] += part[threadIdx.x + k];
        __syncthreads();
    }
    __syncthreads();
    if (threadIdx.x == 0)
        y[blockIdx.x] = ATOMIC ? whole : part[0];
}
extern "C" __global__ void right(float *y, const float *x, int cols) {
    double s = 0;
    for (int i = 0; i < cols && threadIdx.x == 0; i++)
        s += x[(long long)blockIdx.x * cols + i];
    if (threadIdx.x == 0)
        y[blockIdx.x] = (float)s;
}
