// Two constants are double, so the arithmetic of floats is in double precision.
//@ kernel  unneeded_doubles
//@ problem n 4194304
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void unneeded_doubles(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    float a = x[i], b = a + 1;
#pragma unroll 8
    for (int k = 0; k < 128; k++) {
        a = a * 0.37 + 0.11;
        b = b * 0.59 + 0.21;
    }
    y[i] = a + b;
}
