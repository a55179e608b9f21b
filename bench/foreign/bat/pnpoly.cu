// BAT's point-in-polygon kernel, by B. van Werkhoven.
//
//@ kernel    cn_pnpoly
//@ problem   n 4000000
//@ buffer    bitmap i32 n out
//@ buffer    points f32x2 n in
//@ constant  d_vertices f32x2 600 uniform
//@ param     block_size_x 32 64 96 128 160 192 224 256 288 320 352 384 416 448 480 512 544 576 608 640 672 704 736 768 800 832 864 896 928 960 992
//@ param     tile_size 1 2 4 6 8 10 12 14 16 18 20
//@ param     between_method 0 1 2 3
//@ param     use_method 0 1 2
//@ block     block_size_x
//@ grid      ceil_div(n, block_size_x * tile_size)
//@ args      bitmap, points, i32 n
//@ default   block_size_x=256 tile_size=1 between_method=1 use_method=1
//@ data      part
//@ block     256
//@ grid      ceil_div(max(n, 600), 256)
//@ args      points, d_vertices, i32 n
//@ reference cn_pnpoly_naive
//@ block     256
//@ grid      ceil_div(n, 256)
//@ args      bitmap, points, i32 n

// The methods differ where a point is as high as a vertex, so no point is.
extern "C" __global__ void part(float2 *points, float2 *vertices, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        points[i].y = floorf(points[i].y * 0x1p22f) * 0x1p-22f;
    if (i < 600)
        vertices[i].y = floorf(vertices[i].y * 0x1p22f) * 0x1p-22f + 0x1p-23f;
}

extern "C" {
#include "../sources/BAT/batbench/benchmarks/pnpoly/pnpoly.cu"
}
