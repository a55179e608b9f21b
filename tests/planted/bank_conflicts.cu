// All lanes of a warp read the same bank.
//@ kernel  bank_conflicts
//@ problem n 2097152
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void bank_conflicts(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    __shared__ float tile[32 * 33];
    for (int k = threadIdx.x; k < 32 * 33; k += THREADS)
        tile[k] = x[(i + k) % n];
    __syncthreads();
    float sum = 0;
#pragma unroll 8
    for (int k = 0; k < 512; k++)
        sum += ((volatile float *)tile)[threadIdx.x % 32 * 32 + k % 32];
    y[i] = sum;
}
