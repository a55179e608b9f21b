// KTT's copy of Kernel Tuner's point-in-polygon kernel, by B. van Werkhoven.
//@ kernel    Pnpoly
//@ problem   n 5000000
//@ problem   edges 600
//@ buffer    bitmap i32 n out
//@ buffer    points f32x2 n in uniform
//@ buffer    corners f32x2 edges in uniform
//@ constant  d_vertices f32x2 edges
//@ derived   VERTICES edges
//@ param     BLOCK_SIZE_X 32 64 96 128 160 192 224 256 288 320 352 384 416 448 480 512 544 576 608 640 672 704 736 768 800 832 864 896 928 960 992
//@ param     TILE_SIZE 1 2 4 6 8 10 12 14 16 18 20
//@ param     BETWEEN_METHOD 0 1 2 3
//@ param     USE_METHOD 0 1 2
//@ block     BLOCK_SIZE_X
//@ grid      ceil_div(n, BLOCK_SIZE_X * TILE_SIZE)
//@ args      bitmap, points, corners, i32 n
//@ default   BLOCK_SIZE_X=256 TILE_SIZE=1 BETWEEN_METHOD=0 USE_METHOD=0
//@ data      snap
//@ block     256
//@ grid      ceil_div(max(n, edges), 256)
//@ args      points, corners, d_vertices, i32 n, i32 edges
//@ reference plain
//@ block     256
//@ grid      ceil_div(n, 256)
//@ args      bitmap, points, corners, i32 n, i32 edges

// Their methods differ where a point is as high as a corner. So points have multiples of 2^-20, and corners are between them.
extern "C" __global__ void snap(float2 *points, float2 *corners, float2 *d_vertices, int n, int edges) {
    const float s = 1 << 20;
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        points[i].y = floorf(points[i].y * s) / s;
    if (i < edges) {
        corners[i].y = (floorf(corners[i].y * s) + 0.5f) / s;
        d_vertices[i] = corners[i];
    }
}

extern "C" __global__ void plain(int *bitmap, const float2 *points, const float2 *corners, int n, int edges) {
    int i = blockIdx.x * 256 + threadIdx.x, inside = 0;
    if (i >= n)
        return;
    float2 p = points[i];
    for (int j = 0, k = edges - 1; j < edges; k = j++) {
        float2 a = corners[j], b = corners[k];
        if ((a.y > p.y) != (b.y > p.y) && p.x < (b.x - a.x) / (b.y - a.y) * (p.y - a.y) + a.x)
            inside = !inside;
    }
    bitmap[i] = inside;
}

extern "C" {
#include "../sources/KTT/Examples/KernelTunerPnpoly/KernelTunerPnpoly.cu"
}
