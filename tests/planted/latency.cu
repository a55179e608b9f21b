// Each warp follows one chain of addresses: its next load waits for the last.
//@ kernel  latency
//@ problem n 2097152
//@ buffer  x i32 n in
//@ buffer  y i32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    2 * sm_count
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 4 * n / time_ns

extern "C" __global__ void latency(int *y, const int *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x, lane = threadIdx.x % 32;
    int at = i / 32;
#pragma unroll 1
    for (int k = 0; k < 512; k++)
        at = (unsigned)__shfl_sync(~0u, __ldcg(&x[at * 32 + lane]), 0) % (n / 32);
    y[i] = at;
}
