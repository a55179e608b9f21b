// A histogram of eight values in shared memory: whole numbers meet without a loss.
// Expected: memory_bound
//@ kernel  histogram
//@ problem n 67108864
//@ buffer  x u32x4 n/16 in
//@ buffer  y u32 n/16 out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    8 * sm_count
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps n / time_ns

extern "C" __global__ void histogram(unsigned *y, const uint4 *x, int n) {
    __shared__ unsigned bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n / 16; i += gridDim.x * THREADS) {
        const uint4 v = x[i];
        const unsigned w[4] = {v.x & 0x07070707, v.y & 0x07070707, v.z & 0x07070707, v.w & 0x07070707};
#pragma unroll
        for (int k = 0; k < 4; k++)
#pragma unroll
            for (int s = 0; s < 32; s += 8)
                atomicAdd(&bins[w[k] >> s & 255], 1);
    }
    __syncthreads();
    y[blockIdx.x * 256 + threadIdx.x] = bins[threadIdx.x];
}
