// Flash attention in about a hundred lines, by P. Kim.
//@ kernel    forward_kernel
//@ problem   batch 4
//@ problem   heads 8
//@ problem   n 256
//@ problem   d 64
//@ buffer    q f32 batch * heads * n * d in normal
//@ buffer    k f32 batch * heads * n * d in normal
//@ buffer    v f32 batch * heads * n * d in normal
//@ buffer    l f32 batch * heads * n inout zeros
//@ buffer    m f32 batch * heads * n inout index -INFINITY
//@ buffer    o f32 batch * heads * n * d inout zeros
//@ runtime   Bc 16 32 64 128
//@ where     n % Bc = 0
//@ block     Bc
//@ grid      batch, heads
//@ shared    3 * Bc * d * 4 + Bc * Bc * 4
//@ args      q, k, v, i32 n, i32 d, i32 n / Bc, i32 n / Bc, i32 Bc, i32 Bc, f32 0.125, l, m, o
//@ default   Bc=32
//@ reference attention
//@ block     128
//@ grid      batch * heads * n / 128
//@ args      q, k, v, i32 n, i32 d, f32 0.125, l, m, o
//@ tolerance scale 1e-4
//@ tolerance l rel 1e-4
//@ tolerance m abs 1e-4

#include "../sources/flash-attention-minimal/flash.cu"

// A thread for each row of the result.
extern "C" __global__ void attention(const float *q, const float *k, const float *v, int n, int d, float scale, float *l, float *m,
                                     float *o) {
    int row = blockIdx.x * 128 + threadIdx.x;
    size_t first = size_t(row / n) * n * d;
    float largest = -INFINITY, sum = 0, out[64] = {};
    for (int pass = 0; pass < 2; pass++)
        for (int j = 0; j < n; j++) {
            float s = 0;
            for (int x = 0; x < d; x++)
                s += q[size_t(row) * d + x] * k[first + j * d + x];
            s *= scale;
            if (pass == 0) {
                largest = max(largest, s);
                continue;
            }
            float p = expf(s - largest);
            sum += p;
            for (int x = 0; x < 64; x++)
                out[x] += p * v[first + j * d + x];
        }
    l[row] = sum;
    m[row] = largest;
    for (int x = 0; x < 64; x++)
        o[size_t(row) * d + x] = out[x] / sum;
}
