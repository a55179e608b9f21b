// RMS normalization of DeepSpeed, by its team at Microsoft.
//@ kernel    rms_norm<float, unroll, threads, threads>
//@ include   ../sources/DeepSpeed/csrc/includes
//@ include   ../sources/DeepSpeed/csrc/transformer/inference/includes
//@ problem   n 16384
//@ problem   d 4096
//@ require   d % 4 = 0
//@ buffer    y f32 n * d out
//@ buffer    x f32 n * d in normal
//@ buffer    gamma f32 d in normal
//@ param     unroll 1 2 3 4 6 8 12 16 as template
//@ param     threads 32 64 128 256 512 1024 as template
//@ where     unroll * threads * 4 >= d
//@ where     unroll * threads * 2 < d
//@ block     threads
//@ grid      n
//@ args      y, x, gamma, f32 1e-5, i32 d
//@ default   unroll=4 threads=256
//@ reference normalize
//@ block     32
//@ grid      n
//@ args      y, x, gamma, i32 d
//@ tolerance scale 1e-5

#include "../sources/DeepSpeed/csrc/transformer/inference/csrc/rms_norm.cu"

extern "C" __global__ void normalize(float *y, const float *x, const float *gamma, int d) {
    x += size_t(blockIdx.x) * d;
    y += size_t(blockIdx.x) * d;
    float sum = 0;
    for (int i = threadIdx.x; i < d; i += 32)
        sum += x[i] * x[i];
    for (int k = 16; k > 0; k /= 2)
        sum += __shfl_xor_sync(~0u, sum, k);
    for (int i = threadIdx.x; i < d; i += 32)
        y[i] = x[i] * rsqrtf(sum / d + 1e-5f) * gamma[i];
}
