// BAT's dedispersion kernel, by A. Sclocco, B. van Werkhoven and others.
// Their header fixes 2048 measures and 25000 samples. The grid covers the first `samples` of them; 25000 is the author's problem.
//@ kernel    dedispersion_kernel
//@ problem   dms 2048
//@ problem   samples 3125
//@ require   dms <= 2048
//@ require   samples <= 25000
//@ buffer    input u8 1536 * 25650 in
//@ buffer    shifts f32 1536 in index 4148.808/0.00004096*(1/((1425+0.1953125*i)*(1425+0.1953125*i))-1/(1724.8046875*1724.8046875))
//@ buffer    output f32 25000 * 2048 out
//@ buffer    right f32 25000 * ceil_div(dms, 32) * 32 in zeros
//@ param     block_size_x 1 2 4 8 16 32 48 64 80 96 112 128 144 160 176 192 208 224 240 256 272 288 304 320 336 352 368 384 400 416 432 448 464 480 496 512
//@ param     block_size_y 4 8 12 16 20 24 28 32 36 40 44 48 52 56 60 64 68 72 76 80 84 88 92 96 100 104 108 112 116 120 124 128
//@ param     block_size_z 1
//@ param     tile_size_x 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
//@ param     tile_size_y 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
//@ param     tile_stride_x 0 1
//@ param     tile_stride_y 0 1
//@ param     loop_unroll_factor_channel 0 1 2 3 4 6 8 12 16 24 32 48 64 96 128 192 256 384 512 768 1536
//@ param     blocks_per_sm 0 1 2 3 4
//@ where     block_size_x * block_size_y BETWEEN 32 AND 1024
//@ where     tile_size_x > 1 OR tile_stride_x = 0
//@ where     tile_size_y > 1 OR tile_stride_y = 0
//@ block     block_size_x, block_size_y
//@ grid      ceil_div(samples, block_size_x * tile_size_x), ceil_div(dms, block_size_y * tile_size_y)
//@ args      input, output, shifts
//@ default   block_size_x=32 block_size_y=32 block_size_z=1 tile_size_x=1 tile_size_y=1 tile_stride_x=0 tile_stride_y=0 loop_unroll_factor_channel=0 blocks_per_sm=1
//@ data      dedispersion_naive
//@ block     block_size_x, block_size_y
//@ grid      ceil_div(samples, block_size_x), ceil_div(dms, block_size_y)
//@ args      input, right, shifts
//@ verify    differences
//@ block     256
//@ grid      ceil_div(samples, 256), dms
//@ args      error, output, right, i32 samples
//@ metric    gadds dms * samples * 1536 / time_ns

extern "C" __global__ void differences(double *error, const float *output, const float *right, int samples) {
    int x = blockIdx.x * 256 + threadIdx.x;
    if (x < samples && output[blockIdx.y * 25000 + x] != right[blockIdx.y * 25000 + x])
        atomicAdd(error, 1.0);
}
#include "../sources/BAT/batbench/benchmarks/dedisp/dedispersion.cu"
