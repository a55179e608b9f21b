// Double precision on eight sums of each thread.
//@ kernel  fp64_bound
//@ problem n 4194304
//@ buffer  x f64 n in
//@ buffer  y f64 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 16 * n / time_ns

extern "C" __global__ void fp64_bound(double *y, const double *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    double sums[8], v = x[i];
    for (int k = 0; k < 8; k++)
        sums[k] = k;
#pragma unroll 4
    for (int round = 0; round < 128; round++)
#pragma unroll
        for (int k = 0; k < 8; k++)
            sums[k] = sums[k] * v + 1.5;
    double sum = 0;
    for (int k = 0; k < 8; k++)
        sum += sums[k];
    y[i] = sum;
}
