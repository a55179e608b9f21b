// The lanes of a warp have loops of different length, so most wait for the longest.
// Expected: divergent_branches
//@ kernel  divergent_loops
//@ problem n 4194304
//@ buffer  x u32 n in
//@ buffer  y u32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void divergent_loops(unsigned *y, const unsigned *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    const int rounds = x[i] % 8 == 0 ? 512 : 16;
    unsigned a = x[i];
#pragma unroll 1
    for (int k = 0; k < rounds; k++)
        a = (a ^ a >> 13) * 747796405u + k;
    y[i] = a;
}
