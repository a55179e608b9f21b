// The FAIR benchmark hub's dedispersion kernel, by M. Lurati, B. van Werkhoven, A. Sclocco and others.
// Their header fixes 2048 measures and 25000 samples. The grid covers the first `samples` of them; 25000 is the author's problem.
//@ kernel    dedispersion_kernel
//@ problem   dms 2048
//@ problem   samples 3125
//@ require   dms <= 2048
//@ require   samples <= 25000
//@ buffer    input u8 1536 * 25650 in
//@ buffer    shifts f32 1536 in index 4148.808/0.00004096*(1/((1425+0.1953125*i)*(1425+0.1953125*i))-1/(1724.8046875*1724.8046875))
//@ buffer    output f32 25000 * min(2048, ceil_div(dms, block_size_y * tile_size_y) * block_size_y * tile_size_y) out
//@ buffer    right f32 25000 * ceil_div(dms, 32) * 32 in zeros
//@ param     block_size_x 1 2 4 8 16 32
//@ param     block_size_y 32 40 48 56 64 72 80 88 96 104 112 120 128 136 144 152 160 168 176 184 192 200 208 216 224 232 240 248 256
//@ param     block_size_z 1
//@ param     tile_size_x 1 2 3 4
//@ param     tile_size_y 1 2 3 4 5 6 7 8
//@ param     tile_stride_x 0 1
//@ param     tile_stride_y 0 1
//@ param     loop_unroll_factor_channel 0
//@ where     block_size_x * block_size_y BETWEEN 32 AND 1024
//@ where     tile_size_x > 1 OR tile_stride_x = 0
//@ where     tile_size_y > 1 OR tile_stride_y = 0
//@ block     block_size_x, block_size_y
//@ grid      ceil_div(samples, block_size_x * tile_size_x), ceil_div(dms, block_size_y * tile_size_y)
//@ args      input, output, shifts
//@ default   block_size_x=16 block_size_y=32 block_size_z=1 tile_size_x=1 tile_size_y=1 tile_stride_x=0 tile_stride_y=0 loop_unroll_factor_channel=0
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
#include "../sources/benchmark_hub/kernels/dedisp_milo/dedispersion.cu"
