// Turns a number into four coordinates by sizes that are arguments, and reads in another order.
// Expected: uncoalesced_reads
//@ kernel  index_arithmetic
//@ problem n 16777216
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n, i32 64, i32 32, i32 128
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void index_arithmetic(float *y, const float *x, int n, int d0, int d1, int d2) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    int r = i;
    const int d = r % d0;
    r /= d0;
    const int c = r % d1;
    r /= d1;
    const int b = r % d2;
    y[i] = x[((d * d1 + c) * d2 + b) % n];
}
