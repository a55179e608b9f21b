// The last matrix product of Kernel Tuner's tutorial, by B. van Werkhoven. Its matrices have 4096 x 4096 numbers.
//@ kernel    matmul_kernel
//@ buffer    c f32 4096 * 4096 out
//@ buffer    a f32 4096 * 4096 in normal
//@ buffer    b f32 4096 * 4096 in normal
//@ param     block_size_x 16 32 64
//@ param     block_size_y 1 2 4 8 16 32
//@ param     tile_size_x 1 2 4
//@ param     tile_size_y 1 2 4
//@ where     block_size_x = block_size_y * tile_size_y
//@ where     4 * block_size_x * block_size_x * (1 + tile_size_x) <= 49152
//@ block     block_size_x, block_size_y
//@ grid      4096 / (block_size_x * tile_size_x), 4096 / (block_size_y * tile_size_y)
//@ args      c, a, b
//@ default   block_size_x=32 block_size_y=8 tile_size_x=2 tile_size_y=4
//@ reference matmul_reference
//@ block     16, 16
//@ grid      256, 256
//@ args      c, a, b
//@ tolerance scale 1e-5

#include "../references/matmul.cuh"

#include "../sources/kernel_tuner/doc/source/matmul/matmul.cu"
