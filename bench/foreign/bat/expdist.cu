// BAT's Bhattacharya distance of two point sets, by B. van Werkhoven and others.
// Each block writes its part of the sum, so each configuration has its own results. A thread of the reference makes one part.
//@ kernel    ExpDist
//@ problem   n 16384
//@ buffer    A f64 2 * n in normal
//@ buffer    B f64 2 * n in A
//@ buffer    scale_A f64 n in uniform 0.001 0.02
//@ buffer    scale_B f64 n in uniform 0.001 0.02
//@ buffer    cost f64 ceil_div(n, block_size_x * tile_size_x) * ceil_div(n, block_size_y * tile_size_y) out
//@ param     block_size_x 1024 512 256 128 64 32
//@ param     block_size_y 1
//@ param     tile_size_x 1 2 3 4 5 6 7 8
//@ param     tile_size_y 1
//@ param     use_shared_mem 0 1 2
//@ param     loop_unroll_factor_x 1
//@ param     loop_unroll_factor_y 1
//@ param     use_column 0
//@ param     n_y_blocks 1
//@ where     NOT (use_column = 0 AND n_y_blocks > 1)
//@ where     NOT (use_column = 0 AND use_shared_mem = 2)
//@ where     tile_size_x % loop_unroll_factor_x = 0
//@ let       parts_x ceil_div(n, block_size_x * tile_size_x)
//@ let       parts_y ceil_div(n, block_size_y * tile_size_y)
//@ block     block_size_x, block_size_y
//@ grid      parts_x, parts_y
//@ args      A, B, i32 n, i32 n, scale_A, scale_B, cost
//@ default   block_size_x=32 block_size_y=1 tile_size_x=4 tile_size_y=1 use_shared_mem=1 loop_unroll_factor_x=1 loop_unroll_factor_y=1 use_column=0 n_y_blocks=1
//@ reference expdist_reference
//@ per configuration
//@ block     256
//@ grid      ceil_div(parts_x * parts_y, 256)
//@ args      A, B, scale_A, scale_B, cost, i32 n, i32 parts_x, i32 parts_x * parts_y
//@ tolerance scale 1e-9
//@ metric    gpairs n * n / time_ns

extern "C" __global__ void expdist_reference(const double *A, const double *B, const double *scale_A, const double *scale_B,
                                             double *cost, int n, int parts_x, int parts) {
    int part = blockIdx.x * 256 + threadIdx.x, wide = block_size_x * tile_size_x, high = block_size_y * tile_size_y;
    if (part >= parts)
        return;
    int i0 = part % parts_x * wide, j0 = part / parts_x * high;
    double sum = 0;
    for (int j = j0; j < j0 + high && j < n; j++)
        for (int i = i0; i < i0 + wide && i < n; i++) {
            double dx = A[i] - B[j], dy = A[n + i] - B[n + j], s = scale_A[i] + scale_B[j];
            sum += exp(-(dx * dx + dy * dy) / (2 * s)) / s;
        }
    cost[part] = sum;
}
#include "../sources/BAT/batbench/benchmarks/expdist/expdist.cu"
