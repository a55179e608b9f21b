// Sums of blocks, and the last block adds them up behind one fence a block.
// Expected: memory_bound
//@ kernel  last_block
//@ problem n 268435456
//@ buffer  x f32x4 n/4 in
//@ buffer  y f32 n/8192 out
//@ param   THREADS 512
//@ block   THREADS
//@ grid    n / 16384
//@ args    y, x, i32 n
//@ default THREADS=512
//@ metric  gbps 4 * n / time_ns

extern "C" __global__ void last_block(float *y, const float4 *x, int n) {
    __shared__ float sums[16];
    float sum = 0;
    const int first = blockIdx.x * 4096 + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const float4 v = x[first + k * THREADS];
        sum += v.x + v.y + v.z + v.w;
    }
    for (int s = 16; s; s /= 2)
        sum += __shfl_xor_sync(~0u, sum, s);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 1; k < 16; k++)
            sum += sums[k];
        y[blockIdx.x] = sum;
        __threadfence();
    }
}
