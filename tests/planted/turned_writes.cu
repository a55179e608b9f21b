// Writes columns of a matrix that it reads by rows.
// Expected: uncoalesced_writes
//@ kernel  turned_writes
//@ problem n 67108864
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void turned_writes(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    const int row = i >> 13, column = i & 8191;
    y[((long long)column << 13) + row] = x[i];
}
