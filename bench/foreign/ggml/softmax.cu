// Softmax of ggml, by G. Gerganov and others. A struct of sizes is passed by value.
//@ kernel    soft_max_f32<use_shared, 0, 0, half>
//@ include   ../sources/ggml/include
//@ include   ../sources/ggml/src
//@ include   ../sources/ggml/src/ggml-cuda
//@ problem   columns 4096
//@ problem   rows 1024
//@ problem   heads 32
//@ buffer    x f32 columns * rows * heads in normal
//@ buffer    mask f16 columns * rows in normal
//@ buffer    dst f32 columns * rows * heads out
//@ param     use_shared 0 1 as template
//@ runtime   threads 32 64 128 256 512 1024
//@ block     threads
//@ grid      rows, heads
//@ shared    iif(use_shared, (32 + columns) * 4, 128)
//@ args      x, mask, nullptr, dst, struct (i64 heads, u32 32, i64 columns, i64 rows * heads, i64 rows, i64 columns, i64 rows, i64 heads, i64 1, i64 columns * 2, i64 columns * rows * 2, i64 columns * rows * 2, i64 1, i64 1, f32 0.125, f32 8.0, f32 0.8408964, f32 0.9170040)
//@ default   use_shared=1 threads=1024
//@ reference softmax
//@ block     1
//@ grid      rows, heads
//@ args      x, mask, dst, i32 columns
//@ tolerance rel 1e-4

#include "../sources/ggml/src/ggml-cuda/softmax.cu"

extern "C" __global__ void softmax(const float *x, const half *mask, float *dst, int columns) {
    float slope = powf(0.8408964f, blockIdx.y + 1.0f), largest = -INFINITY, sum = 0;
    size_t row = (size_t(blockIdx.y) * gridDim.x + blockIdx.x) * columns;
    mask += size_t(blockIdx.x) * columns;
    for (int i = 0; i < columns; i++)
        largest = max(largest, 0.125f * x[row + i] + slope * __half2float(mask[i]));
    for (int i = 0; i < columns; i++)
        sum += expf(0.125f * x[row + i] + slope * __half2float(mask[i]) - largest);
    for (int i = 0; i < columns; i++)
        dst[row + i] = expf(0.125f * x[row + i] + slope * __half2float(mask[i]) - largest) / sum;
}
