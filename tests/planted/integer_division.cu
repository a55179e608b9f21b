// Divides whole numbers by one that only the caller knows.
//@ kernel  integer_division
//@ problem n 4194304
//@ buffer  x u32 n in
//@ buffer  y u32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void integer_division(unsigned *y, const unsigned *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    unsigned v = x[i], by = x[(i + 1) & 1023] | 1, sum = 0;
#pragma unroll 4
    for (int k = 0; k < 64; k++) {
        sum += v / by;
        v += 0x9e3779b9u;
        by += 2;
    }
    y[i] = sum;
}
