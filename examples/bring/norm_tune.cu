// How to tune the kernel of norm.cuh.
//@ kernel    rms_norm<__half, THREADS, VEC>
//@ problem   rows 8192
//@ problem   columns 4096
//@ buffer    y f16 rows * columns out
//@ buffer    x f16 rows * columns in normal
//@ buffer    weight f16 columns in normal
//@ param     THREADS 64 128 256 512 1024 as template
//@ param     VEC 1 2 4 8 as template
//@ where     columns % VEC = 0
//@ block     THREADS
//@ grid      rows
//@ shared    4 * THREADS
//@ args      y, x, struct (i32 rows, i32 columns, f32 1e-5, weight)
//@ default   THREADS=256 VEC=2
//@ reference plain_norm
//@ block     1
//@ grid      rows
//@ args      y, x, weight, i32 columns
//@ tolerance scale 2e-3
#include "norm.cuh"

extern "C" __global__ void plain_norm(__half *out, const __half *in, const __half *weight, int columns) {
    in += blockIdx.x * size_t(columns);
    out += blockIdx.x * size_t(columns);
    float sum = 0;
    for (int c = 0; c < columns; c++)
        sum += float(in[c]) * float(in[c]);
    for (int c = 0; c < columns; c++)
        out[c] = float(in[c]) * rsqrtf(sum / columns + 1e-5f) * float(weight[c]);
}
