// Waits with nanosleep, far longer than what it waits for.
//@ kernel  sleeping
//@ problem n 4194304
//@ buffer  x u32 n in
//@ buffer  y u32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void sleeping(unsigned *y, const unsigned *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    unsigned v = x[i];
#pragma unroll 1
    for (int k = 0; k < 4; k++) {
        __nanosleep(2000);
        v = v * 747796405u + 1;
    }
    y[i] = v;
}
