// Eight by eight sums of each thread, with 40 registers.
// Expected: spills
//@ kernel  few_registers
//@ problem n 1048576
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ maxrregcount 40
//@ default THREADS=256
//@ metric  gbps 4 * n / time_ns

extern "C" __global__ void few_registers(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    float s[8][8] = {};
#pragma unroll 1
    for (int k = 0; k < 256; k++) {
        float a[8], b[8];
#pragma unroll
        for (int j = 0; j < 8; j++) {
            a[j] = x[(i + k * 8 + j) % n];
            b[j] = x[(i + k * 8 + j + 1000) % n];
        }
#pragma unroll
        for (int r = 0; r < 8; r++)
#pragma unroll
            for (int c = 0; c < 8; c++)
                s[r][c] += a[r] * b[c];
    }
    float t = 0;
#pragma unroll
    for (int r = 0; r < 8; r++)
#pragma unroll
        for (int c = 0; c < 8; c++)
            t += s[r][c];
    y[i] = t;
}
