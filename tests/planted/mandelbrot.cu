// Points of a fractal in random order: each lane has its own number of rounds.
// Expected: divergent_branches
//@ kernel  mandelbrot
//@ problem n 4194304
//@ buffer  x f32 n in
//@ buffer  y i32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 4 * n / time_ns

extern "C" __global__ void mandelbrot(int *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    const float a = x[i], b = x[(i + 77) % n];
    float u = 0, v = 0;
    int k = 0;
    while (k < 512 && u * u + v * v < 4) {
        const float t = u * u - v * v + a;
        v = 2 * u * v + b;
        u = t;
        k++;
    }
    y[i] = k;
}
