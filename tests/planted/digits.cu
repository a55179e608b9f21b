// Counts digits of a number in an array of each thread.
// Expected: local_arrays
//@ kernel  digits
//@ problem n 4194304
//@ buffer  x u32 n in
//@ buffer  y u32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 4 * n / time_ns

extern "C" __global__ void digits(unsigned *y, const unsigned *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    unsigned counts[16] = {}, v = x[i];
#pragma unroll 1
    for (int k = 0; k < 64; k++) {
        counts[v & 15]++;
        v = v >> 1 | v << 31;
        v ^= k * 0x9e3779b9u;
    }
    unsigned best = 0;
#pragma unroll 1
    for (int k = 1; k < 16; k++)
        if (counts[k] > counts[best])
            best = k;
    y[i] = best;
}
