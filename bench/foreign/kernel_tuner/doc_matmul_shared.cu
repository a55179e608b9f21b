// The second matrix product of Kernel Tuner's tutorial, by B. van Werkhoven. Its matrices have 4096 x 4096 numbers.
//@ kernel    matmul_kernel
//@ buffer    c f32 4096 * 4096 out
//@ buffer    a f32 4096 * 4096 in normal
//@ buffer    b f32 4096 * 4096 in normal
//@ param     block_size_x 16 32 64
//@ param     block_size_y 1 2 4 8 16 32
//@ where     block_size_x = block_size_y
//@ block     block_size_x, block_size_y
//@ grid      4096 / block_size_x, 4096 / block_size_y
//@ args      c, a, b
//@ default   block_size_x=32 block_size_y=32
//@ reference matmul_reference
//@ block     16, 16
//@ grid      256, 256
//@ args      c, a, b
//@ tolerance scale 1e-5

extern "C" __global__ void matmul_reference(float *c, const float *a, const float *b) {
    __shared__ float ta[16][16], tb[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    float sum = 0;
    for (int k0 = 0; k0 < 4096; k0 += 16) {
        ta[y][x] = a[row * 4096 + k0 + x];
        tb[y][x] = b[(k0 + y) * 4096 + col];
        __syncthreads();
        for (int k = 0; k < 16; k++)
            sum += ta[y][k] * tb[k][x];
        __syncthreads();
    }
    c[row * 4096 + col] = sum;
}

extern "C" {
#include "../sources/kernel_tuner/doc/source/matmul/matmul_shared.cu"
}
