// A fence follows each store.
//@ kernel  fences
//@ problem n 4194304
//@ buffer  x u32 n in
//@ buffer  y u32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS / 16
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void fences(unsigned *y, const unsigned *x, int n) {
    const int i = blockIdx.x * THREADS * 16 + threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < 16; k++) {
        y[i + k * THREADS] = x[i + k * THREADS] + 1;
        __threadfence();
    }
}
