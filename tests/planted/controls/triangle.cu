// Rows of a triangle, a block for each; there are so many that all SMs work to the end.
// Expected: memory_bound
//@ kernel  triangle
//@ problem n 16384
//@ buffer  x f32x4 n*n/4 in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 2 * n * n / time_ns

extern "C" __global__ void triangle(float *y, const float4 *x, int n) {
    const float4 *row = x + (long long)blockIdx.x * (n / 4);
    float sum = 0;
#pragma unroll 4
    for (int k = threadIdx.x; k < (n - blockIdx.x) / 4; k += THREADS) {
        const float4 v = row[k];
        sum += v.x + v.y + v.z + v.w;
    }
    for (int s = 16; s; s /= 2)
        sum += __shfl_xor_sync(~0u, sum, s);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&y[blockIdx.x], sum);
}
