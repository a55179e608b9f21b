// BAT's hotspot kernel, by B. van Werkhoven and others, after Rodinia.
// In BAT's copy the simulated area is BLOCK_SIZE_X by BLOCK_SIZE_Y: only the first block writes, and results depend on the
// configuration. Only the time matters, as in BAT. With BAT's step_div_cap, 21.8, the scheme is unstable: here it is 1.
//@ kernel    calculate_temp
//@ problem   width 4096
//@ buffer    power f32 1044 * 64 in uniform
//@ buffer    temp f32 1044 * 64 in uniform 324 325
//@ buffer    temp_dst f32 1024 inout zeros
//@ param     BLOCK_SIZE_X 1 2 4 8 16 32 64 96 128 160 192 224 256 288 320 352 384 416 448 480 512 544 576 608 640 672 704 736 768 800 832 864 896 928 960 992 1024
//@ param     BLOCK_SIZE_Y 1 2 4 8 16 32
//@ param     BLOCK_SIZE_Z 1
//@ param     TILE_SIZE_X 1 2 3 4 5 6 7 8 9 10
//@ param     TILE_SIZE_Y 1 2 3 4 5 6 7 8 9 10
//@ param     TEMPORAL_TILING_FACTOR 1 2 3 4 5 6 7 8 9 10
//@ param     MAX_TFACTOR 10
//@ param     LOOP_UNROLL_FACTOR_T 1 2 3 4 5 6 7 8 9 10
//@ param     SH_POWER 0 1
//@ param     BLOCKS_PER_SM 0 1 2 3 4
//@ let       tile BLOCK_SIZE_X * TILE_SIZE_X + 2 * TEMPORAL_TILING_FACTOR
//@ let       rows BLOCK_SIZE_Y * TILE_SIZE_Y + 2 * TEMPORAL_TILING_FACTOR
//@ where     BLOCK_SIZE_X * BLOCK_SIZE_Y BETWEEN 32 AND 1024
//@ where     TEMPORAL_TILING_FACTOR % LOOP_UNROLL_FACTOR_T = 0
//@ where     tile * rows * (2 + SH_POWER) * 4 <= 49152
//@ where     BLOCKS_PER_SM = 0 OR tile * rows * (2 + SH_POWER) * 4 * BLOCKS_PER_SM <= 102400
//@ block     BLOCK_SIZE_X, BLOCK_SIZE_Y
//@ grid      ceil_div(width, BLOCK_SIZE_X)
//@ args      power, temp, temp_dst, 0.1f, 0.1f, 3.0517578e-6f, 1.0f
//@ default   BLOCK_SIZE_X=256 BLOCK_SIZE_Y=1 BLOCK_SIZE_Z=1 TILE_SIZE_X=1 TILE_SIZE_Y=1 TEMPORAL_TILING_FACTOR=1 MAX_TFACTOR=10 LOOP_UNROLL_FACTOR_T=1 SH_POWER=1 BLOCKS_PER_SM=1
//@ reference hotspot_reference
//@ per configuration
//@ block     32, 32
//@ grid      ceil_div(BLOCK_SIZE_X, 12), ceil_div(BLOCK_SIZE_Y, 12)
//@ args      power, temp, temp_dst, i32 BLOCK_SIZE_X, i32 BLOCK_SIZE_Y
//@ tolerance rel 1e-5

#define STEPS TEMPORAL_TILING_FACTOR
#include "../references/hotspot.cuh"
#include "../sources/BAT/batbench/benchmarks/hotspot/hotspot_kernel.cu"
