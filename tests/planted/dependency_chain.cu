// A warp for each scheduler, and each addition waits for the last.
//@ kernel  dependency_chain
//@ problem n 1048576
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 128
//@ block   THREADS
//@ grid    sm_count
//@ args    y, x, i32 n
//@ default THREADS=128
//@ metric  gbps 4 * n / time_ns

extern "C" __global__ void dependency_chain(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    float a = x[i];
    const float b = x[i + 1];
#pragma unroll 16
    for (int k = 0; k < 65536; k++)
        a = a * b + 0.5f;
    y[i] = a;
}
