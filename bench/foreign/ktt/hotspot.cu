// KTT's version of Rodinia's hotspot, by F. Petrovic and others: the heat of a chip, `steps` steps in time.
// A launch makes PYRAMID_HEIGHT steps. The constants are those of KTT's grid of 1024 x 1024.
//@ kernel    hotspot
//@ problem   n 2048
//@ problem   steps 48
//@ require   steps % 16 = 0
//@ buffer    power f32 n * n in uniform
//@ buffer    temp_src f32 n * n inout uniform 320 340
//@ buffer    temp_dst f32 n * n scratch
//@ scalar    cap f32 1.068115e-7
//@ scalar    rx f32 10
//@ scalar    ry f32 10
//@ scalar    rz f32 20480
//@ scalar    step f32 1.458333e-7
//@ param     BLOCK_SIZE_ROWS 8 16 32 64
//@ param     BLOCK_SIZE_COLS 8 16 32 64
//@ runtime   PYRAMID_HEIGHT 1 2 4 8
//@ param     WORK_GROUP_Y 4 8 16 32 64
//@ param     LOCAL_MEMORY 0 1
//@ param     LOOP_UNROLL 0 1
//@ where     BLOCK_SIZE_COLS / (PYRAMID_HEIGHT * 2) > 1 AND WORK_GROUP_Y / (PYRAMID_HEIGHT * 2) > 1
//@ where     WORK_GROUP_Y <= BLOCK_SIZE_ROWS
//@ where     BLOCK_SIZE_ROWS % WORK_GROUP_Y = 0
//@ block     BLOCK_SIZE_COLS, WORK_GROUP_Y
//@ grid      ceil_div(n, BLOCK_SIZE_COLS - 2 * PYRAMID_HEIGHT), ceil_div(n, BLOCK_SIZE_ROWS - 2 * PYRAMID_HEIGHT)
//@ args      i32 PYRAMID_HEIGHT, power, temp_src, temp_dst, i32 n, i32 n, i32 PYRAMID_HEIGHT, i32 PYRAMID_HEIGHT, cap, rx, ry, rz, step
//@ repeat    steps / PYRAMID_HEIGHT
//@ swap      temp_src temp_dst
//@ default   BLOCK_SIZE_ROWS=16 BLOCK_SIZE_COLS=16 PYRAMID_HEIGHT=2 WORK_GROUP_Y=16 LOCAL_MEMORY=1 LOOP_UNROLL=0
//@ reference hotspot_reference
//@ block     32, 8
//@ grid      ceil_div(n, 32), ceil_div(n, 8)
//@ args      power, temp_src, temp_dst, i32 n, cap, rx, ry, rz, step
//@ repeat    steps
//@ swap      temp_src temp_dst
//@ tolerance rel 1e-5

extern "C" __global__ void hotspot_reference(const float *power, const float *from, float *to, int n, float cap, float rx,
                                             float ry, float rz, float step) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= n || y >= n)
        return;
    float t = from[y * n + x];
    float up = from[max(y - 1, 0) * n + x], down = from[min(y + 1, n - 1) * n + x];
    float left = from[y * n + max(x - 1, 0)], right = from[y * n + min(x + 1, n - 1)];
    to[y * n + x] = t + step / cap * (power[y * n + x] + (up + down - 2 * t) / ry + (left + right - 2 * t) / rx + (80 - t) / rz);
}
#include "../sources/KTT/Examples/Legacy/RodiniaHotspot/Hotspot.cu"
