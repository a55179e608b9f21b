// BAT's convolution kernel, by B. van Werkhoven.
//
//@ kernel    convolution_kernel
//@ buffer    output f32 4096 * 4096 out
//@ buffer    input f32 (4096 + 14) * (4096 + 14) in
//@ buffer    filter f32 225 in
//@ constant  d_filter f32 1089
//@ param     filter_width 15
//@ param     filter_height 15
//@ param     block_size_x 1 2 4 8 16 32 48 64 96 112 128
//@ param     block_size_y 1 2 4 8 16 32
//@ param     tile_size_x 1 2 3 4 5 6 7 8
//@ param     tile_size_y 1 2 3 4 5 6 7 8
//@ param     use_padding 0 1
//@ param     read_only 0 1
//@ where     block_size_x * block_size_y >= 64
//@ where     block_size_x * block_size_y <= 1024
//@ where     tile_size_x * tile_size_y < 30
// The kernel's tile must fit in static shared memory.
//@ let       width block_size_x * tile_size_x + 14
//@ let       padding iif(use_padding = 1 AND block_size_x % 32 > 0, (1024 + block_size_x - width) % 32, 0)
//@ where     (block_size_y * tile_size_y + 14) * (width + padding) * 4 <= 49152
//@ block     block_size_x, block_size_y
//@ grid      ceil_div(4096, block_size_x * tile_size_x), ceil_div(4096, block_size_y * tile_size_y)
//@ args      output, input, filter
//@ default   filter_width=15 filter_height=15 block_size_x=32 block_size_y=32 tile_size_x=1 tile_size_y=1 use_padding=1 read_only=0
//@ data      copy_filter
//@ block     225
//@ grid      1
//@ args      d_filter, filter
//@ reference convolution_naive
//@ block     32, 8
//@ grid      128, 512
//@ args      output, input, filter
//@ tolerance scale 1e-5

extern "C" __global__ void copy_filter(float *to, const float *from) {
    to[threadIdx.x] = from[threadIdx.x];
}

#include "../sources/BAT/batbench/benchmarks/convolution/convolution.cu"
