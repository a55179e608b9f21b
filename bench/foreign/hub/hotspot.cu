// The FAIR benchmark hub's hotspot kernel, by B. van Werkhoven and others, after Rodinia.
// A launch does temporal_tiling_factor steps, so the goal is steps per time, as in the author's script.
// With the author's step_div_cap, 21.8, the scheme is unstable and rounding grows: here it is 1.
//@ kernel    calculate_temp
//@ problem   width 4096
//@ problem   height 4096
//@ buffer    power f32 (width + 20) * (height + 30) in uniform
//@ buffer    temp f32 (width + 20) * (height + 30) in uniform 324 325
//@ buffer    temp_dst f32 width * height out
//@ param     block_size_x 1 2 4 8 16 32 64 96 128 160 192 224 256 288 320 352 384 416 448 480 512 544 576 608 640 672 704 736 768 800 832 864 896 928 960 992 1024
//@ param     block_size_y 1 2 4 8 16 32
//@ param     tile_size_x 1 2 3 4 5 6 7 8 9 10
//@ param     tile_size_y 1 2 3 4 5 6 7 8 9 10
//@ param     temporal_tiling_factor 1 2 3 4 5 6 7 8 9 10
//@ param     max_tfactor 10
//@ param     loop_unroll_factor_t 1 2 3 4 5 6 7 8 9 10
//@ param     sh_power 0 1
//@ derived   grid_width width
//@ derived   grid_height height
//@ let       tile block_size_x * tile_size_x + 2 * temporal_tiling_factor
//@ let       rows block_size_y * tile_size_y + 2 * temporal_tiling_factor
//@ where     block_size_x * block_size_y BETWEEN 32 AND 1024
//@ where     temporal_tiling_factor % loop_unroll_factor_t = 0
//@ where     tile * rows * (2 + sh_power) * 4 <= 49152
//@ block     block_size_x, block_size_y
//@ grid      ceil_div(width, block_size_x * tile_size_x), ceil_div(height, block_size_y * tile_size_y)
//@ args      power, temp, temp_dst, 0.1f, 0.1f, 3.0517578e-6f, 1.0f
//@ default   block_size_x=256 block_size_y=1 tile_size_x=1 tile_size_y=1 temporal_tiling_factor=1 max_tfactor=10 loop_unroll_factor_t=1 sh_power=1
//@ reference hotspot_reference
//@ per configuration
//@ block     32, 32
//@ grid      ceil_div(width, 12), ceil_div(height, 12)
//@ args      power, temp, temp_dst, i32 width, i32 height
//@ tolerance rel 1e-5
//@ metric    gflops temporal_tiling_factor * 15 * width * height / time_ns
//@ objective maximize gflops

#define STEPS temporal_tiling_factor
#include "../references/hotspot.cuh"
#define kernel_tuner
extern "C" {
#include "../sources/benchmark_hub/kernels/hotspot_milo.cu"
}
