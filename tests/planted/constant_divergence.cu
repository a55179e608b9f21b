// Each lane reads constant memory at an address of its own.
//@ kernel  constant_divergence
//@ problem n 4194304
//@ buffer  x u32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

__constant__ float table[256];

extern "C" __global__ void constant_divergence(float *y, const unsigned *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    unsigned at = x[i];
    float sum = 0;
#pragma unroll 4
    for (int k = 0; k < 64; k++) {
        sum += table[at & 255];
        at = at * 5 + 1;
    }
    y[i] = sum;
}
