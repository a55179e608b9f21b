// Looks up random bytes in a table of constant memory.
// Expected: constant_divergence
//@ kernel  byte_table
//@ problem n 67108864
//@ buffer  x u32 n/4 in
//@ buffer  y u32 n/4 out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS / 4
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 2 * n / time_ns

__constant__ unsigned table[256];

extern "C" __global__ void byte_table(unsigned *y, const unsigned *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    const unsigned v = x[i];
    y[i] = table[v & 255] | table[v >> 8 & 255] << 8 | table[v >> 16 & 255] << 16 | table[v >> 24] << 24;
}
