// What a transpose in place is: dst, rows x rows, exchanges its rows and columns, in each matrix of a batch.
//
//@ defines   transpose_in_place
//@ problem   rows
//@ problem   cols
//@ problem   lds
//@ problem   ldd
//@ problem   batch
//@ problem   src_stride
//@ problem   dst_stride
//@ buffer    dst elem (batch - 1) * dst_stride + (rows - 1) * ldd + rows inout random
//@ metric    gbps 2 * rows * cols * batch * elem_size / time_ns
//
// A thread exchanges the two elements that lie opposite each other.
//@ reference transpose_in_place_reference
//@ block     256
//@ grid      min(ceil_div(rows, 256), 8192), min(rows, 32768), min(batch, 32768)
//@ args      dst, i64 rows, i64 ldd, i64 batch, i64 dst_stride

#include "elem.cuh"

extern "C" __global__ void transpose_in_place_reference(elem *dst, long long rows, long long ldd, long long batch,
                                                        long long stride) {
    for (long long b = blockIdx.z; b < batch; b += gridDim.z)
        for (long long r = blockIdx.y; r < rows; r += gridDim.y)
            for (long long c = (long long)blockIdx.x * blockDim.x + threadIdx.x; c < r;
                 c += (long long)gridDim.x * blockDim.x) {
                elem *a = &dst[b * stride + r * ldd + c], *z = &dst[b * stride + c * ldd + r];
                const elem held = *a;
                *a = *z;
                *z = held;
            }
}
