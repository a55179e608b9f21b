// Each thread keeps 160 values in registers while it waits for loads, so few warps fit on an SM.
//@ kernel  low_occupancy_registers
//@ problem n 33554432
//@ buffer  x f32 n in
//@ buffer  y f32 n/128 out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS / 128
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 4 * n / time_ns

#define ROUNDS 128

extern "C" __global__ void low_occupancy_registers(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    float kept[160];
#pragma unroll
    for (int k = 0; k < 160; k++) {
        kept[k] = i + k;
        asm volatile("" : "+f"(kept[k]));
    }
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < ROUNDS; k++) // each addition waits for its load
        sum += ((volatile const float *)x)[(long long)k * gridDim.x * THREADS + i];
#pragma unroll
    for (int k = 0; k < 160; k++) {
        asm volatile("" : "+f"(kept[k]));
        sum = sum * 0.5f + kept[k];
    }
    y[i] = sum;
}
