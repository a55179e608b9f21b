// Products of whole numbers, which half of the pipe for FMA computes, and hardly anything else.
//@ kernel  multiply_bound
//@ problem n 4194304
//@ buffer  x u32 n in
//@ buffer  y u32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void multiply_bound(unsigned *y, const unsigned *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    unsigned a = x[i], b = a ^ 1, c = a ^ 2, d = a ^ 3;
#pragma unroll 16
    for (int k = 0; k < 256; k++) {
        a = a * b + c;
        b = b * c + d;
        c = c * d + a;
        d = d * a + b;
    }
    y[i] = a ^ b ^ c ^ d;
}
