// A transpose that converts: dst, cols x rows, becomes src, rows x cols, times scale, with rows and columns exchanged and
// rounded to D as CUDA's own conversions do; fp8 saturates. `outputs` is a sum: 1 for dst, 2 if cast becomes the same without the
// exchange, 4 if amax becomes the largest absolute value of src if that is larger than what it held. NaN is not counted.
// The caller sets amax to 0 or a larger value. A buffer that is not wanted has one element, which stays as it was.
//
//@ defines   cast_transpose
//@ problem   rows
//@ problem   cols
//@ problem   outputs 1
//@ type      S bf16 f16 f32
//@ type      D e4m3 e5m2 bf16 f16 f32
//@ require   outputs IN (1, 3, 5, 7)
//@ require   rows <= 17592186044416 / cols
//@ shape     rows cols
//@ near      rows 0.75
//@ near      cols 0.75
//@ sample    rows=4096 cols=4096
//@ sample    rows=8191 cols=4097
//@ prefer    cast_transpose_vector cast_transpose_shifted
//@ buffer    dst   D rows * cols out
//@ buffer    cast  D iif((outputs & 2) > 0, rows * cols, 1) out
//@ buffer    amax  f32 1 inout uniform 0 1
//@ buffer    src   S rows * cols in normal
//@ buffer    scale f32 1 in uniform 100 200
//@ metric    gbps rows * cols * (iif(S = 'f32', 4, 2) + elem_size * iif((outputs & 2) > 0, 2, 1)) / time_ns
//
//@ reference cast_transpose_reference
//@ block     1024
//@ grid      min(ceil_div(rows * cols, 1024), 8192)
//@ args      dst, cast, amax, src, scale, i64 rows, i64 cols, i32 outputs, i32 CASE WHEN S = 'f32' THEN 0 WHEN S = 'f16' THEN 1 ELSE 2 END, i32 CASE WHEN D = 'f32' THEN 0 WHEN D = 'f16' THEN 1 WHEN D = 'bf16' THEN 2 WHEN D = 'e4m3' THEN 3 ELSE 4 END

#include "../cast.cuh"

static __device__ void put(D *to, float v, int kind) {
    const unsigned code = code_of(v, kind);
    for (int i = 0; i < (int)sizeof(D); i++)
        ((unsigned char *)to)[i] = (unsigned char)(code >> 8 * i);
}

static __device__ unsigned bits_of(const S *from) {
    return sizeof(S) == 4 ? *(const unsigned *)from : *(const unsigned short *)from;
}

extern "C" __global__ void cast_transpose_reference(D *dst, D *cast, float *amax, const S *src, const float *scale,
                                                    long long rows, long long cols, int outputs, int from, int to) {
    const float factor = *scale;
    float most = 0;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < rows * cols; i += (long long)gridDim.x * blockDim.x) {
        const float v = value_of(bits_of(&src[i]), from);
        most = greater(most, v);
        put(&dst[i % cols * rows + i / cols], v * factor, to);
        if (outputs & 2)
            put(&cast[i], v * factor, to);
    }
    if (outputs & 4)
        atomicMax((unsigned *)amax, __float_as_uint(most));
}
