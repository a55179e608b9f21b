// 32 registers do not hold 48 sums, so they move to local memory in each round.
//@ kernel  spills
//@ problem n 4194304
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ maxrregcount 32
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void spills(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    float sums[48];
#pragma unroll
    for (int k = 0; k < 48; k++)
        sums[k] = k;
#pragma unroll 1
    for (int round = 0; round < 32; round++) {
        const float v = x[(i + round * THREADS) % n];
#pragma unroll
        for (int k = 0; k < 48; k++)
            sums[k] = sums[k] * v + sums[(k + 17) % 48];
    }
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 48; k++)
        sum += sums[k];
    y[i] = sum;
}
