// Kernel Tuner's points in a polygon, by B. van Werkhoven. No point is as high as a corner of the polygon, because there
// the values of between_method differ.
//@ kernel    cn_pnpoly
//@ problem   n 4000000
//@ buffer    points f32x2 n in normal
//@ buffer    bitmap i32 n out
//@ constant  d_vertices f32x2 600
//@ constant  d_slopes f32 600
//@ param     block_size_x 32 64 96 128 160 192 224 256 288 320 352 384 416 448 480 512 544 576 608 640 672 704 736 768 800 832 864 896 928 960 992
//@ param     tile_size 1 2 4 6 8 10 12 14 16 18 20
//@ param     between_method 0 1 2 3
//@ param     use_precomputed_slopes 0 1
//@ param     use_method 0 1
//@ block     block_size_x
//@ grid      ceil_div(n, block_size_x * tile_size)
//@ args      bitmap, points, i32 n
//@ default   block_size_x=256 tile_size=1 between_method=0 use_precomputed_slopes=0 use_method=0
//@ data      fill
//@ block     256
//@ grid      ceil_div(max(n, 600), 256)
//@ args      points, d_vertices, d_slopes, i32 n
//@ reference cn_pnpoly_naive
//@ block     256
//@ grid      ceil_div(n, 256)
//@ args      bitmap, points, i32 n

// A corner of a circle. Its height is between two multiples of 1/65536.
static __device__ float2 corner(int i) {
    float angle = -(i + 0.3f) * (6.2831853f / 600);
    return make_float2(cosf(angle), (floorf(sinf(angle) * 65536) + 0.5f) / 65536);
}

extern "C" __global__ void fill(float2 *points, float2 *vertices, float *slopes, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        points[i].y = floorf(points[i].y * 65536) / 65536;
    if (i < 600) {
        float2 v = corner(i), w = corner((i + 599) % 600);
        vertices[i] = v;
        slopes[i] = (w.x - v.x) / (w.y - v.y);
    }
}

extern "C" {
#include "../sources/kernel_tuner/examples/cuda/pnpoly.cu"
}
