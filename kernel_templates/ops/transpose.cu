// A transpose: dst, cols x rows, becomes src, rows x cols, with rows and columns exchanged, in each matrix of a batch.
// Memory between the rows of dst stays as it was. lds and ldd count elements from one row to the next, strides those
// from one matrix to the next. align divides all addresses, pitches and strides, in bytes.
//
//@ defines   transpose transpose_ladder
//@ problem   rows
//@ problem   cols
//@ problem   elem_size  4
//@ problem   lds        cols
//@ problem   ldd        rows
//@ problem   batch      1
//@ problem   src_stride rows * lds
//@ problem   dst_stride cols * ldd
//@ problem   align      align_of(lds * elem_size, ldd * elem_size, iif(batch > 1, src_stride * elem_size, 16), iif(batch > 1, dst_stride * elem_size, 16))
//@ require   elem_size IN (1, 2, 4, 8, 16) AND align IN (1, 2, 4, 8, 16) AND align >= elem_size
//@ require   lds >= cols AND ldd >= rows AND lds <= 17592186044416 / rows / batch AND ldd <= 17592186044416 / cols / batch
//@ require   src_stride = rows * lds OR (batch > 1 AND src_stride BETWEEN (rows - 1) * lds + cols AND 17592186044416 / batch)
//@ require   dst_stride = cols * ldd OR (batch > 1 AND dst_stride BETWEEN (cols - 1) * ldd + rows AND 17592186044416 / batch)
//@ require   align <= align_of(lds * elem_size, ldd * elem_size, iif(batch > 1, src_stride * elem_size, 16), iif(batch > 1, dst_stride * elem_size, 16))
//@ shape     rows cols
//@ near      rows 0.75
//@ near      cols 0.75
//@ near      lds 0.25
//@ near      ldd 0.25
//@ near      src_stride 0
//@ near      dst_stride 0
//@ near      align 0.5
//@ near      elem_size 1 same
//@ sample    rows=4096 cols=4096
//@ sample    rows=8192 cols=8192
//@ sample    rows=8191 cols=8191
//@ sample    rows=256 cols=256
//@ sample    rows=16 cols=16 batch=4096
//@ sample    rows=1048576 cols=4
//@ sample    rows=4 cols=1048576
//@ moves     rows, cols, lds
//@ prefer    transpose_small transpose_few_rows transpose_few_cols transpose_large transpose_wide transpose_shifted transpose_unaligned transpose_direct transpose_vector transpose_spread transpose_tiled
//@ buffer    src elem (batch - 1) * src_stride + (rows - 1) * lds + cols in  random
//@ buffer    dst elem (batch - 1) * dst_stride + (cols - 1) * ldd + rows out
//@ metric    gbps 2 * rows * cols * batch * elem_size / time_ns
//
// One thread an element, in a grid of any size: nothing that could be wrong.
//@ reference transpose_reference
//@ block     256
//@ grid      min(ceil_div(cols, 256), 8192), min(rows, 32768), min(batch, 32768)
//@ args      dst, src, i64 rows, i64 cols, i64 lds, i64 ldd, i64 batch, i64 src_stride, i64 dst_stride

#include "../common.cuh"

extern "C" __global__ void transpose_reference(elem *dst, const elem *src, long long rows, long long cols, long long lds,
                                               long long ldd, long long batch, long long src_stride, long long dst_stride) {
    for (long long b = blockIdx.z; b < batch; b += gridDim.z)
        for (long long r = blockIdx.y; r < rows; r += gridDim.y)
            for (long long c = (long long)blockIdx.x * blockDim.x + threadIdx.x; c < cols; c += (long long)gridDim.x * blockDim.x)
                dst[b * dst_stride + c * ldd + r] = src[b * src_stride + r * lds + c];
}
