// A polynomial in double precision.
// Expected: fp64_bound
//@ kernel  horner_double
//@ problem n 4194304
//@ buffer  x f64 n in
//@ buffer  y f64 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 16 * n / time_ns

extern "C" __global__ void horner_double(double *y, const double *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    double v = x[i], s = 1, t = 2;
#pragma unroll 8
    for (int k = 0; k < 256; k++) {
        s = s * v + 0.1;
        t = t * v + 0.2;
    }
    y[i] = s + t;
}
