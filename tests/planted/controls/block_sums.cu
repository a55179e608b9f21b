// Adds up in registers, then in the warp, then in the block, and adds to one number at the end only.
// Expected: memory_bound
//@ kernel  block_sums
//@ problem n 268435456
//@ buffer  x f32x4 n/4 in
//@ buffer  y f32 64 out
//@ param   THREADS 512
//@ block   THREADS
//@ grid    n / THREADS / 32
//@ args    y, x, i32 n
//@ default THREADS=512
//@ metric  gbps 4 * n / time_ns

extern "C" __global__ void block_sums(float *y, const float4 *x, int n) {
    __shared__ float sums[THREADS / 32];
    const int i = blockIdx.x * THREADS * 8 + threadIdx.x;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const float4 v = x[i + k * THREADS];
        sum += v.x + v.y + v.z + v.w;
    }
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 1; k < THREADS / 32; k++)
            sum += sums[k];
        atomicAdd(&y[blockIdx.x % 64], sum);
    }
}
