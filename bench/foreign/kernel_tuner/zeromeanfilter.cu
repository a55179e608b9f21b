// Kernel Tuner's zero-mean filter along columns, by B. van Werkhoven.
//@ kernel    computeMeanVertically
//@ problem   h 4391
//@ problem   w 3539
//@ require   h > 1
//@ buffer    image f32 h * w inout normal
//@ param     block_size_x 32 64 96 128 160 192 224 256
//@ param     block_size_y 1 2 4 8 16 32
//@ block     block_size_x, block_size_y
//@ grid      ceil_div(w, block_size_x)
//@ args      i32 h, i32 w, image
//@ default   block_size_x=32 block_size_y=16
//@ reference computeMeanVertically_naive
//@ block     32
//@ grid      ceil_div(w, 32)
//@ args      i32 h, i32 w, image
//@ tolerance scale 1e-5

extern "C" {
#include "../sources/kernel_tuner/examples/cuda/zeromeanfilter.cu"
}
