// An array of each thread is indexed by what the data say, so it cannot be in registers.
//@ kernel  local_arrays
//@ problem n 4194304
//@ buffer  x u32 n in
//@ buffer  y u32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void local_arrays(unsigned *y, const unsigned *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    unsigned counts[32], v = x[i];
#pragma unroll
    for (int k = 0; k < 32; k++)
        counts[k] = k;
#pragma unroll 1
    for (int k = 0; k < 64; k++) {
        counts[v & 31] += k;
        v = v * 747796405u + 2891336453u;
        v ^= v >> 15;
    }
    unsigned sum = 0;
#pragma unroll
    for (int k = 0; k < 32; k++)
        sum = sum * 3 + counts[k];
    y[i] = sum;
}
