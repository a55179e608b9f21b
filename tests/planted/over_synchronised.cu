// A barrier follows each addition.
//@ kernel  over_synchronised
//@ problem n 1048576
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 1024
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=1024
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void over_synchronised(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    __shared__ float turn[THREADS];
    float v = x[i];
#pragma unroll 1
    for (int k = 0; k < 256; k++) {
        turn[threadIdx.x] = v;
        __syncthreads();
        v += turn[(threadIdx.x + 33) % THREADS];
        __syncthreads();
    }
    y[i] = v;
}
