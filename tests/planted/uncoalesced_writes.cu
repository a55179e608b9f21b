// Neighbouring lanes write floats that are 128 bytes apart.
//@ kernel  uncoalesced_writes
//@ problem n 16777216
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void uncoalesced_writes(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    const long long j = (long long)i * 32;
    y[j % n + j / n] = x[i];
}
