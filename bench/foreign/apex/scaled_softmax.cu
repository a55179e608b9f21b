// Softmax of Apex, by NVIDIA. A row is in the registers of a warp. It needs two types and a macro of PyTorch's headers.
//@ kernel    scaled_softmax_warp_forward<c10::Half, c10::Half, float, log2_elements>
//@ include   stubs
//@ problem   rows 131072
//@ problem   columns 1000
//@ require   columns <= 1024 AND columns % 4 = 0
//@ buffer    y f16 rows * columns out
//@ buffer    x f16 rows * columns in normal
//@ param     log2_elements 10 11 as template
//@ param     registers 32 48 64 96 128 255
//@ runtime   rows_per_block 1 2 4 8 16 32
//@ maxrregcount registers
//@ block     32, rows_per_block
//@ grid      ceil_div(rows, rows_per_block)
//@ args      y, x, f32 0.125, i32 rows, i32 columns
//@ default   log2_elements=10 registers=255 rows_per_block=4
//@ reference softmax
//@ block     32
//@ grid      rows
//@ args      y, x, i32 columns
//@ tolerance rel 4e-3

#include "../sources/apex/csrc/megatron/scaled_masked_softmax.h"

extern "C" __global__ void softmax(half *y, const half *x, int columns) {
    x += size_t(blockIdx.x) * columns;
    y += size_t(blockIdx.x) * columns;
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += 32)
        sum += expf(0.125f * __half2float(x[i]));
    for (int k = 16; k > 0; k /= 2)
        sum += __shfl_xor_sync(~0u, sum, k);
    for (int i = threadIdx.x; i < columns; i += 32)
        y[i] = __float2half(expf(0.125f * __half2float(x[i])) / sum);
}
