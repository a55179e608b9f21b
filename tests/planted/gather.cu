// Reads at random places of a table of 32 MB.
// Expected: uncoalesced_reads
//@ kernel  gather
//@ problem n 16777216
//@ buffer  x u32 n in
//@ buffer  t f32 n/2 in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, t, i32 n
//@ default THREADS=256
//@ metric  gbps 12 * n / time_ns

extern "C" __global__ void gather(float *y, const unsigned *x, const float *t, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    y[i] = t[x[i] % (n / 2)];
}
