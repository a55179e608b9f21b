// The work takes less time than a launch.
//@ kernel  host_bound
//@ problem n 65536
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void host_bound(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    y[i] = x[i] * 2;
}
