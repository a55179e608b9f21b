// Reads bytes, one a lane, where words would take a quarter of the requests. The L1 cache has all of them.
//@ kernel  narrow_loads
//@ problem n 1048576
//@ buffer  x u8 n in
//@ buffer  y u32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 512 * n / time_ns

extern "C" __global__ void narrow_loads(unsigned *y, const unsigned char *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    const unsigned char *own = x + blockIdx.x % 128 * 8192;
    unsigned sum = 0;
#pragma unroll 16
    for (int k = 0; k < 512; k++)
        sum += own[(k * THREADS + threadIdx.x) % 8192];
    y[i] = sum;
}
