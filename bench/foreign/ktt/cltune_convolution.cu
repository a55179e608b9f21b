// KTT's version of CLTune's 7 x 7 convolution, by Cedric Nugteren, F. Petrovic and others.
// TBX_XL and TBY_XL are parameters in KTT's script, where constraints leave one value of each.
//@ kernel    conv
//@ problem   x 4096
//@ problem   y 4096
//@ buffer    src f32 (x + 6) * (y + 6) in uniform
//@ buffer    coeff f32 49 in uniform
//@ buffer    dest f32 x * y out
//@ param     TBX 8 16 32 64
//@ param     TBY 8 16 32 64
//@ param     LOCAL 0 1 2
//@ param     WPTX 1 2 4 8 16
//@ param     WPTY 1 2 4 8 16
//@ param     VECTOR 1 2 4
//@ param     UNROLL_FACTOR1 0 1 7
//@ param     UNROLL_FACTOR2 0 1 7
//@ param     PADDING 0 1
//@ let       TBX_XL iif(LOCAL = 2, TBX + ceil_div(6, WPTX), TBX)
//@ let       TBY_XL iif(LOCAL = 2, TBY + ceil_div(6, WPTY), TBY)
//@ where     WPTX % VECTOR = 0
//@ where     LOCAL != 2 OR 6 % VECTOR = 0
//@ where     PADDING = 0 OR LOCAL != 0
//@ where     TBX % WPTX = 0
//@ where     TBY % WPTY = 0
//@ where     x % (TBX * WPTX) = 0 AND y % (TBY * WPTY) = 0
// CUDA's limit of static shared memory. KTT lets the compiler find out.
//@ where     LOCAL = 0 OR (TBY * WPTY + 6) * (TBX * WPTX + 6 + PADDING) * 4 <= 49152
//@ block     TBX_XL, TBY_XL
//@ grid      x / (TBX * WPTX), y / (TBY * WPTY)
//@ args      i32 x, i32 y, src, coeff, dest
//@ default   TBX=8 TBY=8 LOCAL=0 WPTX=1 WPTY=1 VECTOR=1 UNROLL_FACTOR1=0 UNROLL_FACTOR2=0 PADDING=0
//@ reference conv_reference
//@ block     8, 8
//@ grid      x / 8, y / 8
//@ args      i32 x, i32 y, src, coeff, dest
//@ tolerance rel 1e-5

#include "../sources/KTT/Examples/ClTuneConvolution/ClTuneConvolutionReference.cu"
#undef HFS
#undef FS
#include "../sources/KTT/Examples/ClTuneConvolution/ClTuneConvolution.cu"
