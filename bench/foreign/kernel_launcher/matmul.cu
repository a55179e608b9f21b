// Kernel Launcher's matrix product, by B. van Werkhoven and S. Heldens. Its matrices have 4096 x 4096 numbers.
//@ kernel    matmul_kernel
//@ buffer    c f32 4096 * 4096 out
//@ buffer    a f32 4096 * 4096 in normal
//@ buffer    b f32 4096 * 4096 in normal
//@ param     block_size_x 16 32 48
//@ param     block_size_y 1 2 4 8 16 32
//@ param     tile_size_x 1 2 4 8
//@ param     tile_size_y 1 2 4 8
//@ param     blocks_per_sm 0 1 2 3 4 5 6 7 8
//@ where     blocks_per_sm * block_size_x * block_size_y <= 2048
//@ where     block_size_x = block_size_y * tile_size_y
//@ block     block_size_x, block_size_y
//@ grid      4096 / (block_size_x * tile_size_x), 4096 / (block_size_y * tile_size_y)
//@ args      c, a, b
//@ default   block_size_x=32 block_size_y=32 tile_size_x=1 tile_size_y=1 blocks_per_sm=0
//@ reference matmul_reference
//@ block     16, 16
//@ grid      256, 256
//@ args      c, a, b
//@ tolerance scale 1e-5

#include "../references/matmul.cuh"

extern "C" {
#include "../sources/kernel_launcher/examples/matmul/matmul.cu"
}
