// How to tune the kernel of blur.cu.
//@ kernel    blur
//@ problem   width 1920
//@ problem   height 1080
//@ buffer    x f32 width * height in uniform
//@ buffer    y f32 width * height out
//@ param     BLOCK_X 8 16 32 64 128
//@ param     BLOCK_Y 2 4 8 16 32
//@ where     BLOCK_X * BLOCK_Y >= 64
//@ block     BLOCK_X, BLOCK_Y
//@ grid      ceil_div(width, BLOCK_X), ceil_div(height, BLOCK_Y)
//@ args      x, y, i32 width, i32 height
//@ default   BLOCK_X=16 BLOCK_Y=16
//@ reference default
#include "blur.cu"
