// Kernel Tuner's 2D convolution, by B. van Werkhoven. Its image has 4096 x 4096 points.
//@ kernel    convolution_kernel
//@ problem   fw 17
//@ problem   fh 17
//@ require   fw BETWEEN 1 AND 33 AND fh BETWEEN 1 AND 33
//@ buffer    output f32 4096 * 4096 out
//@ buffer    input f32 (4096 + fw / 2 * 2) * (4096 + fh / 2 * 2) in normal
//@ buffer    weights f32 33 * 33 in index sinf(12.9f * i)
//@ constant  d_filter f32 33 * 33 index sinf(12.9f * i)
//@ derived   filter_width fw
//@ derived   filter_height fh
//@ param     block_size_x 16 32 48 64 80 96 112 128
//@ param     block_size_y 1 2 4 8 16 32
//@ param     tile_size_x 1 2 3 4 5 6 7 8
//@ param     tile_size_y 1 2 3 4 5 6 7 8
//@ param     use_padding 0 1
//@ param     read_only 0 1
//@ where     use_padding = 0 OR block_size_x % 32 != 0
//@ let       wide fw / 2 * 2 + block_size_x * tile_size_x
//@ let       padding iif(use_padding = 1, (32 - (wide - block_size_x) % 32) % 32, 0)
//@ where     (wide + padding) * (fh / 2 * 2 + block_size_y * tile_size_y) * 4 <= 49152
//@ block     block_size_x, block_size_y
//@ grid      ceil_div(4096, block_size_x * tile_size_x), ceil_div(4096, block_size_y * tile_size_y)
//@ args      output, input, weights
//@ default   block_size_x=16 block_size_y=16 tile_size_x=1 tile_size_y=1 use_padding=1 read_only=0
//@ reference convolution_naive
//@ block     16, 16
//@ grid      256, 256
//@ args      output, input, weights
//@ tolerance scale 1e-5

extern "C" {
#include "../sources/kernel_tuner/examples/cuda/convolution.cu"
}
