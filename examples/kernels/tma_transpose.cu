// y = the transpose of x, a matrix of rows x cols floats. The tensor memory accelerator (TMA) copies a tile of HEIGHT x 32 into
// shared memory: one thread asks for it, and all wait. TMA leaves out what is beyond the edges of the matrix. With a swizzle of
// 128 bytes it spreads the numbers of a column over the banks, so that warps read columns with fewer conflicts.
//
//@ kernel    tma_transpose
//@ problem   rows 8192
//@ problem   cols 8192
//@ require   cols % 4 = 0
//@ buffer    x f32 rows * cols in
//@ buffer    y f32 rows * cols out
//@ param     HEIGHT 32 64 128 256
//@ param     WARPS 2 4 8 16
//@ param     SWIZZLE 0 128
//@ tensormap map x (cols, rows) box (32, HEIGHT) swizzle SWIZZLE
//@ block     32, WARPS
//@ grid      ceil_div(cols, 32), ceil_div(rows, HEIGHT)
//@ args      y, map, i32 rows, i32 cols
//@ default   HEIGHT=64 WARPS=8 SWIZZLE=128
//@ reference plain
//@ block     32, 8
//@ grid      ceil_div(cols, 32), ceil_div(rows, 8)
//@ args      y, x, i32 rows, i32 cols
//@ metric    gbps 8 * rows * cols / time_ns

#include <cuda.h>

__device__ unsigned shared_address(const void *p) {
    return (unsigned)__cvta_generic_to_shared(p);
}

// Starts a barrier that one thread arrives at, and that counts bytes of TMA.
__device__ void begin_barrier(unsigned barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Copies the box of the map at (x, y) to shared memory, and arrives at the barrier.
__device__ void copy_box(unsigned to, const CUtensorMap *map, int x, int y, unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(barrier)
                 : "memory");
}

__device__ void wait_for(unsigned barrier) {
    int done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.s32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(barrier)
                     : "memory");
}

extern "C" __global__ void __launch_bounds__(32 * WARPS) tma_transpose(float *y, const __grid_constant__ CUtensorMap map, int rows, int cols) {
    __shared__ alignas(1024) float tile[HEIGHT * 32];
    __shared__ alignas(8) unsigned long long barrier;
    const int left = blockIdx.x * 32, top = blockIdx.y * HEIGHT;
    const bool first = threadIdx.x == 0 && threadIdx.y == 0;
    if (first)
        begin_barrier(shared_address(&barrier));
    __syncthreads();
    if (first)
        copy_box(shared_address(tile), &map, left, top, shared_address(&barrier), sizeof tile);
    wait_for(shared_address(&barrier));
    for (int col = threadIdx.y; col < 32 && left + col < cols; col += WARPS)
#pragma unroll 4
        for (int row = threadIdx.x; row < HEIGHT && top + row < rows; row += 32) {
            const int chunk = SWIZZLE ? col / 4 ^ row % 8 : col / 4; // of 16 bytes
            y[(long long)(left + col) * rows + top + row] = tile[row * 32 + chunk * 4 + col % 4];
        }
}

extern "C" __global__ void plain(float *y, const float *x, int rows, int cols) {
    const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row < rows && col < cols)
        y[(long long)col * rows + row] = x[(long long)row * cols + col];
}
