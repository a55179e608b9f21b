// Eight sums of each thread in single precision.
// Expected: fp32_bound
//@ kernel  fp32_bound
//@ problem n 4194304
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void fp32_bound(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    float sums[8];
    const float v = x[i];
#pragma unroll
    for (int k = 0; k < 8; k++)
        sums[k] = k;
#pragma unroll 4
    for (int round = 0; round < 128; round++)
#pragma unroll
        for (int k = 0; k < 8; k++)
            sums[k] = sums[k] * v + 1.5f;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 8; k++)
        sum += sums[k];
    y[i] = sum;
}
