// All threads add to the same 32 numbers.
//@ kernel  atomics
//@ problem n 16777216
//@ buffer  x i32 n in
//@ buffer  y i32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 4 * n / time_ns

extern "C" __global__ void atomics(int *y, const int *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    atomicAdd(&y[x[i] & 31], 1 + (i & 1));
}
