// One warp in eight works, and the others have ended long before.
//@ kernel  uneven_warps
//@ problem n 2097152
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void uneven_warps(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    float a = x[i];
    if (threadIdx.x < 32)
#pragma unroll 8
        for (int k = 0; k < 4096; k++)
            a = a * a + 0.5f;
    y[i] = a;
}
