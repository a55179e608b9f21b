// A long polynomial in single precision; all lanes read its coefficients from the same constant memory.
// Expected: fp32_bound
//@ kernel  polynomial
//@ problem n 4194304
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

__constant__ float coefficients[64];

extern "C" __global__ void polynomial(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    float a = x[i], b = a + 1, c = a + 2, d = a + 3;
#pragma unroll 1
    for (int round = 0; round < 16; round++)
#pragma unroll
        for (int k = 0; k < 64; k++) {
            a = a * 0.5f + coefficients[k];
            b = b * 0.5f + coefficients[k];
            c = c * 0.5f + coefficients[k];
            d = d * 0.5f + coefficients[k];
        }
    y[i] = a + b + c + d;
}
