// A chain of addresses through shared memory, and few warps to wait with.
//@ kernel  shared_latency
//@ problem n 1048576
//@ buffer  x u32 n in
//@ buffer  y u32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    sm_count
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 4 * n / time_ns

extern "C" __global__ void shared_latency(unsigned *y, const unsigned *x, int n) {
    __shared__ unsigned next[1024];
    const int i = blockIdx.x * THREADS + threadIdx.x, lane = threadIdx.x % 32;
    for (int k = threadIdx.x; k < 1024; k += THREADS)
        next[k] = x[k] % 32 * 32 + k % 32;
    __syncthreads();
    unsigned at = lane;
#pragma unroll 4
    for (int k = 0; k < 16384; k++)
        at = next[at];
    y[i] = at;
}
