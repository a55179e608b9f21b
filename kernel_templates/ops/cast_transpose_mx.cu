// A transpose to MXFP8: 32 numbers beside each other share a scale, which is a power of two (e8m0). `outputs` is a sum: 1 for dst,
// cols x rows, where rows and columns are exchanged, 2 for cast, which is rows x cols. Each has scales of its own, a byte for 32
// numbers in the same order. A buffer that is not wanted has one element, which stays as it was.
//
// A scale is the smallest with which the block does not saturate. Infinity counts as the largest number, and NaN as none.
// Numbers are divided by the scale and rounded as in cast_transpose.
//
//@ defines   cast_transpose_mx
//@ problem   rows
//@ problem   cols
//@ problem   outputs 3
//@ type      S bf16 f16 f32
//@ type      D e4m3 e5m2
//@ require   outputs IN (1, 2, 3) AND rows % 32 = 0 AND cols % 32 = 0
//@ require   rows <= 17592186044416 / cols
//@ shape     rows cols
//@ near      rows 0.75
//@ near      cols 0.75
//@ sample    rows=4096 cols=4096
//@ buffer    dst         D  iif((outputs & 1) > 0, rows * cols, 1) out
//@ buffer    dst_scales  u8 iif((outputs & 1) > 0, rows * cols / 32, 1) out
//@ buffer    cast        D  iif((outputs & 2) > 0, rows * cols, 1) out
//@ buffer    cast_scales u8 iif((outputs & 2) > 0, rows * cols / 32, 1) out
//@ buffer    src S rows * cols in normal
//@ metric    gbps rows * (cols * iif(S = 'f32', 4, 2) + iif(outputs = 3, 2, 1) * cols * 33 / 32) / time_ns
//
// A thread does 32 numbers of a row or a column.
//@ reference cast_transpose_mx_reference
//@ block     256
//@ grid      min(ceil_div(rows * cols / 32, 256), 65536)
//@ args      dst, dst_scales, cast, cast_scales, src, i64 rows, i64 cols, i32 outputs, i32 CASE WHEN S = 'f32' THEN 0 WHEN S = 'f16' THEN 1 ELSE 2 END, i32 CASE WHEN D = 'e4m3' THEN 3 ELSE 4 END

#include "../cast.cuh"
#include "../mx.cuh"

static __device__ void block(D *to, unsigned char *scale, const S *from, long long apart, int source, int kind) {
    float v[32], most = 0;
    for (int i = 0; i < 32; i++) {
        const S *p = from + i * apart;
        v[i] = value_of(sizeof(S) == 4 ? *(const unsigned *)p : *(const unsigned short *)p, source);
        most = greater(most, v[i]);
    }
    *scale = (unsigned char)scale_code(most, kind);
    for (int i = 0; i < 32; i++)
        to[i] = (D)code_of(v[i] * inverse_scale(*scale), kind);
}

extern "C" __global__ void cast_transpose_mx_reference(D *dst, unsigned char *dst_scales, D *cast, unsigned char *cast_scales,
                                                       const S *src, long long rows, long long cols, int outputs, int from,
                                                       int to) {
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < rows * cols / 32; i += (long long)gridDim.x * blockDim.x) {
        const long long row = i % (rows / 32) * 32, col = i / (rows / 32);
        if (outputs & 1)
            block(dst + i * 32, dst_scales + i, src + row * cols + col, cols, from, to);
        if (outputs & 2)
            block(cast + i * 32, cast_scales + i, src + i * 32, 1, from, to);
    }
}
