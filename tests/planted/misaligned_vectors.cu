// Warps begin one float after a line, so each request touches a second line.
//@ kernel  misaligned_vectors
//@ problem n 4194304
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void misaligned_vectors(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    const float *own = x + blockIdx.x * THREADS % (n / 2);
    const int turn = (int)own[0] & 15; // so that no load can be left out
    float sum = 0;
#pragma unroll 8
    for (int k = 0; k < 256; k++)
        sum += own[(k + turn) % 16 * 32 + threadIdx.x + 1];
    y[i] = sum;
}
