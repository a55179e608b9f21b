// A block takes 160 KB of shared memory while it waits for loads, so one fits on an SM.
//@ kernel  low_occupancy_shared
//@ problem n 33554432
//@ buffer  x f32 n in
//@ buffer  y f32 n/128 out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS / 128
//@ args    y, x, i32 n
//@ shared  163840
//@ default THREADS=256
//@ metric  gbps 4 * n / time_ns

#define ROUNDS 128

extern "C" __global__ void low_occupancy_shared(float *y, const float *x, int n) {
    extern __shared__ float kept[];
    const int i = blockIdx.x * THREADS + threadIdx.x;
    kept[threadIdx.x] = i;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < ROUNDS; k++) // each addition waits for its load
        sum += ((volatile const float *)x)[(long long)k * gridDim.x * THREADS + i];
    y[i] = sum + kept[threadIdx.x];
}
