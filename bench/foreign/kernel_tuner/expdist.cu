// Kernel Tuner's distance of two particles (Bhattacharya's cost), by B. van Werkhoven and others. It reads shared memory's
// tiles without looking at the end, so buffers are longer by the longest tile. Both kernels are tuned at once.
//@ kernel    ExpDist
//@ problem   m 8192
//@ problem   n 8192
//@ buffer    a f64 2 * m + 4096 in normal
//@ buffer    b f64 2 * n + 4096 in normal
//@ buffer    scale_a f64 m + 4096 in uniform 0.001 0.02
//@ buffer    scale_b f64 n + 4096 in uniform 0.001 0.02
//@ param     block_size_x 32 64 128 256 512
//@ param     block_size_y 1 2 4 8 16 32
//@ param     tile_size_x 1 2 4 8
//@ param     tile_size_y 1 2 4 8
//@ param     use_shared_mem 0 1
//@ param     reduce_block_size 32 64 96 128 160 192 224 256 288 320 352 384 416 448 480 512 544 576 608 640 672 704 736 768 800 832 864 896 928 960 992 1024
//@ let       bx ceil_div(m, block_size_x * tile_size_x)
//@ let       by ceil_div(n, block_size_y * tile_size_y)
//@ where     use_shared_mem = 0 OR 24 * (block_size_x * tile_size_x + block_size_y * tile_size_y) + 512 <= 49152
//@ buffer    cross_term f64 bx * by scratch
//@ buffer    output f64 1 out
//@ block     block_size_x, block_size_y
//@ grid      bx, by
//@ args      a, b, i32 m, i32 n, scale_a, scale_b, cross_term
//@ kernel    reduce_cross_term
//@ block     reduce_block_size
//@ grid      1
//@ args      output, cross_term, i32 m, i32 n, i32 bx * by
//@ default   block_size_x=32 block_size_y=4 tile_size_x=4 tile_size_y=4 use_shared_mem=1 reduce_block_size=32
//@ reference expdist_reference
//@ block     1024
//@ grid      1
//@ args      a, b, i32 m, i32 n, scale_a, scale_b, output
//@ tolerance rel 1e-10

#include "../sources/kernel_tuner/examples/cuda/expdist.cu"

extern "C" __global__ void expdist_reference(const double *a, const double *b, int m, int n, const double *scale_a,
                                             const double *scale_b, double *output) {
    __shared__ double sums[1024];
    double sum = 0;
    for (int j = 0; j < n; j++)
        for (int i = threadIdx.x; i < m; i += 1024) {
            double dx = a[i] - b[j], dy = a[m + i] - b[n + j];
            sum += exp(-(dx * dx + dy * dy) / (scale_a[i] + scale_b[j]));
        }
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < 1024; i++)
            sum += sums[i];
        *output = sum;
    }
}
