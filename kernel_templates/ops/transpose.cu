// What a transpose is: dst, cols x rows, becomes src, rows x cols, with rows and columns exchanged, in each matrix of
// a batch. What lies between the rows of dst stays as it was. The library says the variables (tt_problem).
//
//@ defines   transpose transpose_ladder
//@ problem   rows
//@ problem   cols
//@ problem   lds
//@ problem   ldd
//@ problem   batch
//@ problem   src_stride
//@ problem   dst_stride
//@ buffer    src elem (batch - 1) * src_stride + (rows - 1) * lds + cols in  random
//@ buffer    dst elem (batch - 1) * dst_stride + (cols - 1) * ldd + rows out
//@ metric    gbps 2 * rows * cols * batch * elem_size / time_ns
//
// One thread an element, in a grid of any size: nothing that could be wrong.
//@ reference transpose_reference
//@ block     256
//@ grid      min(ceil_div(cols, 256), 8192), min(rows, 32768), min(batch, 32768)
//@ args      dst, src, i64 rows, i64 cols, i64 lds, i64 ldd, i64 batch, i64 src_stride, i64 dst_stride

#include "elem.cuh"

extern "C" __global__ void transpose_reference(elem *dst, const elem *src, long long rows, long long cols, long long lds,
                                               long long ldd, long long batch, long long src_stride,
                                               long long dst_stride) {
    for (long long b = blockIdx.z; b < batch; b += gridDim.z)
        for (long long r = blockIdx.y; r < rows; r += gridDim.y)
            for (long long c = (long long)blockIdx.x * blockDim.x + threadIdx.x; c < cols;
                 c += (long long)gridDim.x * blockDim.x)
                dst[b * dst_stride + c * ldd + r] = src[b * src_stride + r * lds + c];
}
