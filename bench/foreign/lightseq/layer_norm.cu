// Layer normalization of LightSeq, by its team at ByteDance.
//@ kernel    lightseq::cuda::ker_layer_norm<float>
//@ include   ../sources/lightseq/lightseq/csrc/kernels/cuda/includes
//@ problem   n 16384
//@ problem   d 4096
//@ require   d % 4 = 0
//@ buffer    y f32 n * d out
//@ buffer    vars f32 n out
//@ buffer    means f32 n out
//@ buffer    x f32 n * d in
//@ buffer    gamma f32 d in
//@ buffer    bias f32 d in
//@ runtime   threads 32 64 128 256 512 1024
//@ block     threads
//@ grid      n
//@ args      y, vars, means, x, gamma, bias, i32 d / 4
//@ default   threads=1024
//@ reference normalize
//@ block     32
//@ grid      n
//@ args      y, vars, means, x, gamma, bias, i32 d
//@ tolerance scale 1e-4

#include "../sources/lightseq/lightseq/csrc/kernels/cuda/normalize_kernels.cu"

extern "C" __global__ void normalize(float *y, float *vars, float *means, const float *x, const float *scale, const float *bias, int d) {
    x += size_t(blockIdx.x) * d;
    y += size_t(blockIdx.x) * d;
    double sum = 0, squares = 0;
    for (int i = threadIdx.x; i < d; i += 32) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    for (int k = 16; k > 0; k /= 2) {
        sum += __shfl_xor_sync(~0u, sum, k);
        squares += __shfl_xor_sync(~0u, squares, k);
    }
    float mean = sum / d, var = squares / d - mean * mean;
    if (threadIdx.x == 0) {
        means[blockIdx.x] = mean;
        vars[blockIdx.x] = var;
    }
    for (int i = threadIdx.x; i < d; i += 32)
        y[i] = (x[i] - mean) * rsqrtf(var) * scale[i] + bias[i];
}
