// dst = alpha * src^T, or alpha * src^T + beta * dst, as BLAS's geam with one matrix transposed. src is rows x cols. lds and ldd
// count numbers from one row to the next. A complex number is two parts of T, and so are its factors; real ones ignore the
// second part.
//
// parts   1: real numbers, 2: complex ones
// terms   1: dst is not read, 2: beta * dst is added
// form    1: transposed, 2: conjugated, too
//
//@ defines   transpose_scaled
//@ problem   rows
//@ problem   cols
//@ problem   lds   cols
//@ problem   ldd   rows
//@ problem   parts 1
//@ problem   terms 1
//@ problem   form  1
//@ type      T f32 f64
//@ require   parts IN (1, 2) AND terms IN (1, 2) AND form BETWEEN 1 AND parts
//@ require   lds >= cols AND ldd >= rows AND lds <= 17592186044416 / rows AND ldd <= 17592186044416 / cols
//@ shape     rows cols
//@ near      rows 0.75
//@ near      cols 0.75
//@ near      lds 0.25
//@ near      ldd 0.25
//@ sample    rows=4096 cols=4096
//@ sample    rows=4095 cols=4097
//@ buffer    dst T ((cols - 1) * ldd + rows) * parts inout normal
//@ buffer    src T ((rows - 1) * lds + cols) * parts in normal
//@ scalar    alpha      T 1.25
//@ scalar    alpha_imag T -0.3
//@ scalar    beta       T 0.7
//@ scalar    beta_imag  T 0.45
//@ metric    gbps rows * cols * elem_size * parts * (1 + terms) / time_ns
//
//@ reference transpose_scaled_reference
//@ block     256
//@ grid      min(ceil_div(rows * cols, 256), 262144)
//@ args      dst, src, alpha, alpha_imag, beta, beta_imag, i64 rows, i64 cols, i64 lds, i64 ldd, i32 parts, i32 terms, i32 form

#include "../scaled.cuh"

extern "C" __global__ void transpose_scaled_reference(T *dst, const T *src, T alpha, T alpha_imag, T beta, T beta_imag,
                                                      long long rows, long long cols, long long lds, long long ldd, int parts,
                                                      int terms, int form) {
    const factors f = {{alpha, alpha_imag}, {beta, beta_imag}};
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < rows * cols; i += (long long)gridDim.x * blockDim.x) {
        const long long r = i / cols, c = i % cols;
        scale(dst + (c * ldd + r) * parts, src + (r * lds + c) * parts, f, parts, terms, form);
    }
}
