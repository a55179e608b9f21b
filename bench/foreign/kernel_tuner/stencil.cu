// Kernel Tuner's 5-point stencil, by B. van Werkhoven. Its domain has 4096 x 2048 points.
//@ kernel    stencil_kernel
//@ buffer    x_old f32 4096 * 2048 in normal
//@ buffer    x_new f32 4096 * 2048 inout x_old
//@ param     block_size_x 32 64 96 128 160 192 224 256
//@ param     block_size_y 1 2 4 8 16 32
//@ block     block_size_x, block_size_y
//@ grid      ceil_div(4096, block_size_x), ceil_div(2048, block_size_y)
//@ args      x_new, x_old
//@ default   block_size_x=32 block_size_y=8
//@ reference stencil_reference
//@ block     256
//@ grid      4096 * 2048 / 256
//@ args      x_new, x_old
//@ tolerance scale 1e-6

extern "C" __global__ void stencil_reference(float *to, const float *from) {
    int i = blockIdx.x * 256 + threadIdx.x, x = i % 4096, y = i / 4096;
    if (x > 0 && x < 4095 && y > 0 && y < 2047)
        to[i] = (from[i] + from[i - 1] + from[i + 1] + from[i + 4096] + from[i - 4096]) / 5;
}

extern "C" {
#include "../sources/kernel_tuner/examples/cuda/stencil.cu"
}
