// Derivative in x with tiles, of NVIDIA's blog, by M. Harris. Sizes are constants of the author's file.
//@ kernel    derivative_x_lPencils
//@ param     mx 256
//@ param     my 256
//@ param     mz 256
//@ param     sPencils 1 2 4
//@ param     lPencils 2 4 8 16 32
//@ constant  c_ax f32 1 index 204.0f
//@ constant  c_bx f32 1 index -51.0f
//@ constant  c_cx f32 1 index 9.714f
//@ constant  c_dx f32 1 index -0.911f
//@ buffer    f f32 256 * 256 * 256 in normal
//@ buffer    df f32 256 * 256 * 256 out
//@ where     lPencils >= sPencils
//@ block     mx, sPencils
//@ grid      my / lPencils, mz
//@ args      f, df
//@ default   mx=256 my=256 mz=256 sPencils=4 lPencils=32
//@ reference derivative_x
//@ block     256, 4
//@ grid      256 / 4, 256
//@ args      f, df
//@ tolerance scale 1e-5

#include "../sources/code-samples/series/cuda-cpp/finite-difference/finite-difference.cu"
