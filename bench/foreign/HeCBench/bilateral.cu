// Bilateral filter of HeCBench, by Z. Jin. Whether loops are unrolled is a macro that the author sets by an option.
//@ kernel    bilateralFilter<4>
//@ problem   w 2960
//@ problem   h 1935
//@ buffer    image f32 w * h in uniform
//@ buffer    result f32 w * h out
//@ param     registers 32 48 64 128 255
//@ runtime   bx 8 16 32 64 128 256
//@ runtime   by 1 2 4 8 16 32
//@ where     bx * by >= 64
//@ maxrregcount registers
//@ block     bx, by
//@ grid      ceil_div(w, bx), ceil_div(h, by)
//@ args      image, result, i32 w, i32 h, f32 0.0159, f32 0.5, f32 10.0
//@ default   registers=255 bx=16 by=16
//@ reference filter
//@ block     32, 8
//@ grid      ceil_div(w, 32), ceil_div(h, 8)
//@ args      image, result, i32 w, i32 h, f32 0.0159, f32 0.5, f32 10.0
//@ tolerance rel 1e-4

#define LOOP_UNROLL
#include "../sources/HeCBench/src/bilateral-cuda/main.cu"

extern "C" __global__ void filter(const float *in, float *out, int w, int h, float scale, float range, float space) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= w || y >= h)
        return;
    double sum = 0, weights = 0;
    for (int j = -4; j <= 4; j++)
        for (int i = -4; i <= 4; i++) {
            int u = abs(x + i), v = abs(y + j);
            u = u > w - 1 ? w - 1 - i : u; // as the author has it
            v = v > h - 1 ? h - 1 - j : v;
            double d = in[y * w + x] - in[v * w + u], r = (u - x) * (u - x) + (v - y) * (v - y);
            double weight = scale * exp(-d * d / (2 * range) - r / (2 * space));
            weights += weight;
            sum += weight * in[v * w + u];
        }
    out[y * w + x] = sum / weights;
}
