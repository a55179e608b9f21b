// Rounds of a hash function, of rotations, exclusive ors and sums.
// Expected: instruction_bound
//@ kernel  hash_rounds
//@ problem n 4194304
//@ buffer  x u32 n in
//@ buffer  y u32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 4 * n / time_ns

extern "C" __global__ void hash_rounds(unsigned *y, const unsigned *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    unsigned a = x[i], b = a + 1, c = a + 2, d = a + 3;
#pragma unroll 8
    for (int k = 0; k < 128; k++) {
        a += b;
        d ^= a;
        d = d << 16 | d >> 16;
        c += d;
        b ^= c;
        b = b << 12 | b >> 20;
        a += b;
        d ^= a;
        d = d << 8 | d >> 24;
        c += d;
        b ^= c;
        b = b << 7 | b >> 25;
    }
    y[i] = a ^ b ^ c ^ d;
}
