// Copies, with 16 bytes a thread.
// Expected: memory_bound
//@ kernel  wide_copy
//@ problem n 67108864
//@ buffer  x f32x4 n/4 in
//@ buffer  y f32x4 n/4 out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS / 16
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void wide_copy(float4 *y, const float4 *x, int n) {
    const int i = blockIdx.x * THREADS * 4 + threadIdx.x;
    float4 v[4];
#pragma unroll
    for (int k = 0; k < 4; k++)
        v[k] = x[i + k * THREADS];
#pragma unroll
    for (int k = 0; k < 4; k++)
        y[i + k * THREADS] = v[k];
}
