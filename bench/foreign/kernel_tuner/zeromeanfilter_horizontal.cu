// Kernel Tuner's zero-mean filter along rows, by B. van Werkhoven.
//@ kernel    computeMeanHorizontally
//@ problem   h 4391
//@ problem   w 3539
//@ require   w > 1
//@ buffer    image f32 h * w inout normal
// Its script also has 96, 160, 192 and 224, for which the kernel is wrong.
//@ param     block_size_x 32 64 128 256
//@ param     block_size_y 1 2 4 8 16 32
//@ block     block_size_x, block_size_y
//@ grid      1, ceil_div(h, block_size_y)
//@ args      i32 h, i32 w, image
//@ default   block_size_x=32 block_size_y=16
//@ reference row_means
//@ block     128
//@ grid      ceil_div(h, 128)
//@ args      i32 h, i32 w, image
//@ tolerance scale 1e-5

extern "C" __global__ void row_means(int h, int w, float *image) {
    int row = blockIdx.x * 128 + threadIdx.x;
    if (row < h) {
        double sums[2] = {0, 0};
        for (int j = 0; j < w; j++)
            sums[j % 2] += image[row * w + j];
        for (int j = 0; j < w; j++)
            image[row * w + j] -= (float)(sums[j % 2] / ((w + 1 - j % 2) / 2));
    }
}

extern "C" {
#include "../sources/kernel_tuner/examples/cuda/zeromeanfilter.cu"
}
