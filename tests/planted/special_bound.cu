// Exponentials and sines only, which one unit in sixteen computes.
//@ kernel  special_bound
//@ problem n 4194304
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void special_bound(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    float a = x[i], b = a + 1;
#pragma unroll 8
    for (int k = 0; k < 256; k++) {
        a = __sinf(a) + __cosf(b);
        b = __sinf(b + a);
    }
    y[i] = a + b;
}
