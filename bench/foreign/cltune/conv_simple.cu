// CLTune's simple 7 x 7 convolution, by Cedric Nugteren.
// Windows that reach over the right end of a row continue in the next row. So the source has 7 rows more, not columns.
//@ kernel    conv
//@ problem   x 8192
//@ problem   y 4096
//@ buffer    src f32 x * (y + 7) in uniform
//@ buffer    coeff f32 49 in uniform
//@ buffer    dest f32 x * y out
//@ param     TBX 8 16 32
//@ param     TBY 8 16 32
//@ param     WPTX 1 2 4
//@ param     WPTY 1 2 4
//@ param     VECTOR 1 2 4
//@ where     WPTX % VECTOR = 0
//@ where     x % (TBX * WPTX) = 0 AND y % (TBY * WPTY) = 0
//@ block     TBX, TBY
//@ grid      x / (TBX * WPTX), y / (TBY * WPTY)
//@ args      i32 x, i32 y, src, coeff, dest
//@ default   TBX=8 TBY=8 WPTX=1 WPTY=1 VECTOR=1
//@ reference conv_reference
//@ block     32, 8
//@ grid      ceil_div(x, 32), ceil_div(y, 8)
//@ args      i32 x, i32 y, src, coeff, dest
//@ tolerance rel 1e-5

extern "C" __global__ void conv_reference(int x, int y, const float *src, const float *coeff, float *dest) {
    int i = blockIdx.x * 32 + threadIdx.x, j = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
    if (i >= x || j >= y)
        return;
    for (int fx = 0; fx < 7; fx++)
        for (int fy = 0; fy < 7; fy++)
            sum += coeff[fy * 7 + fx] * src[(j + fy) * x + i + fx];
    dest[j * x + i] = sum;
}
#include "../sources/CLTune/samples/conv_simple/conv_simple_kernel.cu"
