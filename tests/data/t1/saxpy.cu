// A kernel as it is written for another tuner: with macros of its own where that tuner does not run it.
#ifndef kernel_tuner
#define block_size_x 128
#define VECTOR 1
#define MODE plain
#endif
#define plain 1
#define unrolled 2

// saxpy: y += a * x, as it is written for other tuners: without extern "C"
template <int N> __device__ float times(float a, float x) {
    return a * x;
}

__global__ void saxpy(float *y, const float *x, float a, int n) {
    int first = (blockIdx.x * block_size_x + threadIdx.x) * VECTOR;
#if MODE == unrolled
#pragma unroll
#endif
    for (int i = first; i < first + VECTOR; i++)
        if (i < n)
            y[i] += times<VECTOR>(a, x[i]);
}
