// The FAIR benchmark hub's convolution kernel, by B. van Werkhoven and others.
// The file fixes an image of 4096x4096 and ignores use_shmem: only 1 is here. One `where` counts the padding columns too.
//@ kernel    convolution_kernel
//@ buffer    input f32 (4096 + 14) * (4096 + 14) in normal
//@ buffer    weights f32 33 * 33 in index (i * 7 % 31 - 15) / 16.0f
//@ buffer    output f32 4096 * 4096 out
//@ constant  d_filter f32 33 * 33 index (i * 7 % 31 - 15) / 16.0f
//@ param     block_size_x 16 32 48 64 80 96 112 128 144 160 176 192 208 224 240 256
//@ param     block_size_y 1 2 4 8 16
//@ param     tile_size_x 1 2 3 4
//@ param     tile_size_y 1 2 3 4
//@ param     read_only 0 1
//@ param     use_padding 0 1
//@ param     use_shmem 1
//@ param     use_cmem 1
//@ param     filter_height 15
//@ param     filter_width 15
//@ let       wide block_size_x * tile_size_x + filter_width - 1
//@ let       high block_size_y * tile_size_y + filter_height - 1
//@ let       padding iif(use_padding = 1 AND block_size_x % 32 > 0, (32 - (wide - block_size_x)) & 31, 0)
//@ where     use_padding = 0 OR block_size_x % 32 <> 0
//@ where     block_size_x * block_size_y <= 1024
//@ where     use_padding = 0 OR use_shmem <> 0
//@ where     use_shmem = 0 OR wide * high < 12 * 1024
//@ where     (wide + padding) * high <= 12 * 1024
//@ block     block_size_x, block_size_y
//@ grid      ceil_div(4096, block_size_x * tile_size_x), ceil_div(4096, block_size_y * tile_size_y)
//@ args      output, input, weights
//@ default   block_size_x=16 block_size_y=16 tile_size_x=1 tile_size_y=1 read_only=0 use_padding=1 use_shmem=1 use_cmem=1 filter_height=15 filter_width=15
//@ reference convolution_naive
//@ block     32, 8
//@ grid      4096 / 32, 4096 / 8
//@ args      output, input, weights
//@ tolerance scale 1e-5
//@ metric    gflops 2 * 15 * 15 * 4096 * 4096 / time_ns

extern "C" {
#include "../sources/benchmark_hub/kernels/convolution_milo.cu"
}
