// Reads one of four floats.
// Expected: uncoalesced_reads
//@ kernel  every_fourth
//@ problem n 67108864
//@ buffer  x f32 n in
//@ buffer  y f32 n/4 out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS / 4
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 4 * n / time_ns

extern "C" __global__ void every_fourth(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    y[i] = x[i * 4];
}
