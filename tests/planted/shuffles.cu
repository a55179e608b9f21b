// Lanes exchange numbers all the time.
// Expected: lsu_bound
//@ kernel  shuffles
//@ problem n 4194304
//@ buffer  x u32 n in
//@ buffer  y u32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void shuffles(unsigned *y, const unsigned *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    unsigned a = x[i], b = a + 1, c = a + 2, d = a + 3;
#pragma unroll 8
    for (int k = 0; k < 128; k++) {
        a = __shfl_xor_sync(~0u, b, 1);
        b = __shfl_xor_sync(~0u, c, 2);
        c = __shfl_xor_sync(~0u, d, 4);
        d = __shfl_xor_sync(~0u, a, 8);
    }
    y[i] = a + b + c + d;
}
