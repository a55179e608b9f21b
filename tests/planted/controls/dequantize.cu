// Bytes times a scale: conversions, but memory is the limit.
// Expected: memory_bound
//@ kernel  dequantize
//@ problem n 134217728
//@ buffer  x u8x16 n/16 in
//@ buffer  y f32x4 n/4 out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS / 16
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 5 * n / time_ns

extern "C" __global__ void dequantize(float4 *y, const uint4 *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    const uint4 v = x[i];
    const unsigned w[4] = {v.x, v.y, v.z, v.w};
    __shared__ float4 out[THREADS * 4];
#pragma unroll
    for (int k = 0; k < 4; k++)
        out[(threadIdx.x * 4 + k) ^ (threadIdx.x / 2 & 3)] =
            make_float4((float)(w[k] & 255) * 0.5f, (float)(w[k] >> 8 & 255) * 0.5f,
                        (float)(w[k] >> 16 & 255) * 0.5f, (float)(w[k] >> 24) * 0.5f);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int at = threadIdx.x + k * THREADS;
        y[blockIdx.x * THREADS * 4 + at] = out[at ^ (at / 8 & 3)];
    }
}
