// KTT's copy of Kernel Tuner's convolution, by B. van Werkhoven.
//@ kernel    Convolution
//@ problem   width 4096
//@ problem   height 4096
//@ problem   half 7
//@ require   half <= 16
//@ buffer    output f32 width * height out
//@ buffer    input f32 (width + 2 * half) * (height + 2 * half) in uniform -2 2
//@ buffer    filter f32 33 * 33 in uniform -2 2
//@ constant  d_filter f32 33 * 33
//@ derived   IMAGE_WIDTH width
//@ derived   IMAGE_HEIGHT height
//@ derived   HFS half
//@ param     BLOCK_SIZE_X 1 2 4 8 16 32 48 64 96 112 128
//@ param     BLOCK_SIZE_Y 1 2 4 8 16 32
//@ param     TILE_SIZE_X 1 2 3 4 5 6 7 8
//@ param     TILE_SIZE_Y 1 2 3 4 5 6 7 8
//@ param     PADDING 0 1
//@ param     READ_ONLY 0 1
//@ where     BLOCK_SIZE_X * BLOCK_SIZE_Y >= 64
//@ where     BLOCK_SIZE_X * BLOCK_SIZE_Y <= 1024
//@ where     TILE_SIZE_X * TILE_SIZE_Y < 30
//@ where     4 * (BLOCK_SIZE_Y * TILE_SIZE_Y + 2 * half) * (BLOCK_SIZE_X * TILE_SIZE_X + 2 * half) <= 49152
//@ block     BLOCK_SIZE_X, BLOCK_SIZE_Y
//@ grid      ceil_div(width, BLOCK_SIZE_X * TILE_SIZE_X), ceil_div(height, BLOCK_SIZE_Y * TILE_SIZE_Y)
//@ args      output, input, filter
//@ default   BLOCK_SIZE_X=16 BLOCK_SIZE_Y=16 TILE_SIZE_X=1 TILE_SIZE_Y=1 PADDING=0 READ_ONLY=0
//@ data      copy_filter
//@ block     1
//@ grid      33 * 33
//@ args      d_filter, filter
//@ reference plain
//@ block     32, 8
//@ grid      ceil_div(width, 32), ceil_div(height, 8)
//@ args      output, input, filter, i32 width, i32 height, i32 2 * half + 1
//@ tolerance scale 1e-5

extern "C" __global__ void copy_filter(float *d_filter, const float *filter) {
    d_filter[blockIdx.x] = filter[blockIdx.x];
}

extern "C" __global__ void plain(float *output, const float *input, const float *filter, int width, int height, int f) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0;
    for (int j = 0; j < f; j++)
        for (int i = 0; i < f; i++)
            sum += input[(y + j) * (width + f - 1) + x + i] * filter[j * f + i];
    output[y * width + x] = sum;
}

extern "C" {
#include "../sources/KTT/Examples/KernelTunerConvolution/KernelTunerConvolution.cu"
}
