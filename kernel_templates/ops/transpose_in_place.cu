// A transpose in place: dst, rows x rows, exchanges its rows and columns, in each matrix of a batch. Its variables are
// those of a transpose, and those of the source are those of the destination.
//
//@ defines   transpose_in_place
//@ problem   rows
//@ problem   cols       rows
//@ problem   elem_size  4
//@ problem   lds        cols
//@ problem   ldd        lds
//@ problem   batch      1
//@ problem   src_stride rows * lds
//@ problem   dst_stride src_stride
//@ problem   align      align_of(lds * elem_size, iif(batch > 1, src_stride * elem_size, 16))
//@ require   elem_size IN (1, 2, 4, 8, 16) AND align IN (1, 2, 4, 8, 16) AND align >= elem_size
//@ require   lds >= cols AND lds <= 17592186044416 / rows / batch
//@ require   src_stride = rows * lds OR (batch > 1 AND src_stride BETWEEN (rows - 1) * lds + cols AND 17592186044416 / batch)
//@ require   align <= align_of(lds * elem_size, iif(batch > 1, src_stride * elem_size, 16))
//@ require   cols = rows AND ldd = lds AND dst_stride = src_stride
//@ shape     rows cols
//@ near      rows 0.75
//@ near      cols 0.75
//@ near      lds 0.25
//@ near      ldd 0.25
//@ near      src_stride 0
//@ near      dst_stride 0
//@ near      align 0.5
//@ near      elem_size 1 same
//@ sample    rows=4096
//@ sample    rows=8192
//@ sample    rows=8191
//@ sample    rows=256
//@ sample    rows=16 batch=4096
//@ moves     bytes
//@ buffer    dst elem (batch - 1) * dst_stride + (rows - 1) * ldd + rows inout random
//@ metric    gbps 2 * rows * cols * batch * elem_size / time_ns
//
// A thread exchanges the two elements that lie opposite each other.
//@ prefer    transpose_small_in_place transpose_in_place_unaligned transpose_in_place
//@ reference transpose_in_place_reference
//@ block     256
//@ grid      min(ceil_div(rows, 256), 8192), min(rows, 32768), min(batch, 32768)
//@ args      dst, i64 rows, i64 ldd, i64 batch, i64 dst_stride

#include "../common.cuh"

extern "C" __global__ void transpose_in_place_reference(elem *dst, long long rows, long long ldd, long long batch,
                                                        long long stride) {
    for (long long b = blockIdx.z; b < batch; b += gridDim.z)
        for (long long r = blockIdx.y; r < rows; r += gridDim.y)
            for (long long c = (long long)blockIdx.x * blockDim.x + threadIdx.x; c < r; c += (long long)gridDim.x * blockDim.x) {
                elem *a = &dst[b * stride + r * ldd + c], *z = &dst[b * stride + c * ldd + r];
                const elem held = *a;
                *a = *z;
                *z = held;
            }
}
