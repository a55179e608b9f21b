// Rasterizer of 3D Gaussian splatting, by B. Kerbl and others. The tile is two macros of a header of theirs. GLM is not needed.
//@ kernel    renderCUDA<3>
//@ include   stubs
//@ problem   w 1920
//@ problem   h 1080
//@ problem   gaussians 262144
//@ param     BLOCK_X 8 16 32
//@ param     BLOCK_Y 4 8 16 32
//@ where     BLOCK_X * BLOCK_Y >= 32
//@ let       tiles ceil_div(w, BLOCK_X) * ceil_div(h, BLOCK_Y)
//@ buffer    ranges u32x2 w * h / 16 in zeros
//@ buffer    list u32 gaussians in permutation
//@ buffer    xy f32x2 gaussians in index i % 2 ? i % 1080 : i / 7 % 1920
//@ buffer    colors f32 gaussians * 3 in uniform
//@ buffer    conic f32x4 gaussians in index i % 4 == 1 ? 0.0f : i % 4 == 3 ? 0.3f : 0.001f
//@ buffer    T f32 w * h out
//@ buffer    counts u32 w * h out
//@ buffer    background f32 3 in uniform
//@ buffer    image f32 w * h * 3 out
//@ block     BLOCK_X, BLOCK_Y
//@ grid      ceil_div(w, BLOCK_X), ceil_div(h, BLOCK_Y)
//@ args      ranges, list, i32 w, i32 h, xy, colors, conic, T, counts, background, image
//@ default   BLOCK_X=16 BLOCK_Y=16
//@ data      fill
//@ block     256
//@ grid      ceil_div(w * h / 16, 256)
//@ args      ranges, i32 w * h / 16
//@ reference default
//@ tolerance abs 1e-4

#include "../sources/diff-gaussian-rasterization/cuda_rasterizer/forward.cu"

// All tiles have the same 512 Gaussians, so that the result does not depend on the tile.
extern "C" __global__ void fill(uint2 *ranges, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        ranges[i] = {4096, 4608};
}
