// What a copy is: dst becomes src, rows x cols both. It is what a transpose is compared with.
//
//@ defines   copy
//@ problem   rows
//@ problem   cols
//@ problem   lds
//@ problem   ldd
//@ problem   batch
//@ problem   src_stride
//@ problem   dst_stride
//@ buffer    src elem (batch - 1) * src_stride + (rows - 1) * lds + cols in  random
//@ buffer    dst elem (batch - 1) * dst_stride + (rows - 1) * ldd + cols out
//@ metric    gbps 2 * rows * cols * batch * elem_size / time_ns
//
//@ reference copy_reference
//@ block     256
//@ grid      min(ceil_div(cols, 256), 8192), min(rows, 32768), min(batch, 32768)
//@ args      dst, src, i64 rows, i64 cols, i64 lds, i64 ldd, i64 batch, i64 src_stride, i64 dst_stride

#include "elem.cuh"

extern "C" __global__ void copy_reference(elem *dst, const elem *src, long long rows, long long cols, long long lds,
                                          long long ldd, long long batch, long long src_stride, long long dst_stride) {
    for (long long b = blockIdx.z; b < batch; b += gridDim.z)
        for (long long r = blockIdx.y; r < rows; r += gridDim.y)
            for (long long c = (long long)blockIdx.x * blockDim.x + threadIdx.x; c < cols;
                 c += (long long)gridDim.x * blockDim.x)
                dst[b * dst_stride + r * ldd + c] = src[b * src_stride + r * lds + c];
}
