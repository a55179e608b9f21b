// The classic, for every shape and element: a block carries UNROLL tiles, one after the other, through padded shared memory.
// The space leaves out large tiles of few threads: they were 5 % and more slower, and compile slowly.
//@ kernel   transpose_tiled
//@ op       transpose
//@ param    TILE_DIM   16 32 64 128
//@ param    BLOCK_ROWS 2 4 8 16 32
//@ param    PAD        0 1 2 4
//@ runtime  UNROLL     1 2 4 8
//@ runtime  ORDER      0 1
//@ derived  EDGES      cols % TILE_DIM > 0 OR rows % TILE_DIM > 0
//@ derived  BATCHED    batch > 1
//@ let      tiles_across ceil_div(cols, TILE_DIM)
//@ let      tiles_down ceil_div(rows, TILE_DIM * UNROLL)
//@ where    TILE_DIM % BLOCK_ROWS = 0
//@ where    TILE_DIM * BLOCK_ROWS BETWEEN 64 AND max_threads_per_block
//@ where    TILE_DIM < 128 OR BLOCK_ROWS >= 8
//@ where    align >= elem_size
//@ launch   early
//@ block    TILE_DIM, BLOCK_ROWS
//@ grid     iif(ORDER = 0, tiles_across, tiles_down), iif(ORDER = 0, tiles_down, tiles_across), min(batch, 65535)
//@ shared   TILE_DIM * (TILE_DIM + PAD) * elem_size
//@ args     dst, src, i64 rows, i64 cols, i64 lds, i64 ldd, i32 batch, i64 src_stride, i64 dst_stride, i32 UNROLL, i32 ORDER
//@ default  TILE_DIM=32 BLOCK_ROWS=8 PAD=1 UNROLL=1 ORDER=1

#include "common.cuh"

#define PER_THREAD (TILE_DIM / BLOCK_ROWS)

// All loads are in flight before the first store to shared memory waits for one.
static __device__ void move_whole_tile(elem *dst, const elem *src, long long lds, long long ldd, elem *tile) {
    const int tx = threadIdx.x, ty = threadIdx.y;
    elem held[PER_THREAD];
    src += ty * lds + tx;
#pragma unroll
    for (int j = 0; j < PER_THREAD; j++)
        held[j] = src[j * BLOCK_ROWS * lds];
#pragma unroll
    for (int j = 0; j < PER_THREAD; j++)
        tile[(ty + j * BLOCK_ROWS) * (TILE_DIM + PAD) + tx] = held[j];
    __syncthreads();
    dst += ty * ldd + tx;
#pragma unroll
    for (int j = 0; j < PER_THREAD; j++)
        dst[j * BLOCK_ROWS * ldd] = tile[tx * (TILE_DIM + PAD) + ty + j * BLOCK_ROWS];
}

// A tile on the edge has `height` rows and `width` columns of the source; small code rather than fast.
static __device__ void move_edge_tile(elem *dst, const elem *src, long long lds, long long ldd, int height, int width,
                                      elem *tile) {
    const int tx = threadIdx.x;
#pragma unroll 1
    for (int y = threadIdx.y; y < height; y += BLOCK_ROWS)
        if (tx < width)
            tile[y * (TILE_DIM + PAD) + tx] = src[y * lds + tx];
    __syncthreads();
#pragma unroll 1
    for (int y = threadIdx.y; y < width; y += BLOCK_ROWS)
        if (tx < height)
            dst[y * ldd + tx] = tile[tx * (TILE_DIM + PAD) + y];
}

extern "C" __global__ void __launch_bounds__(TILE_DIM *BLOCK_ROWS)
    transpose_tiled(elem *dst, const elem *src, long long rows, long long cols, long long lds, long long ldd, int batch,
                    long long src_stride, long long dst_stride, int unroll, int order) {
    extern __shared__ elem tile[];
    const long long col0 = (long long)block_across(order) * TILE_DIM;
    const long long first = (long long)block_down(order) * unroll * TILE_DIM;
    wait_for_earlier();
#if BATCHED
    for (int b = blockIdx.z; b < batch; b += gridDim.z)
#else
    const int b = 0;
#endif
#pragma unroll 1
        for (int u = 0; u < unroll; u++) {
            const long long row0 = first + u * TILE_DIM;
            if (row0 >= rows)
                break;
            if (u > 0 || (BATCHED && b != blockIdx.z))
                __syncthreads(); // the last tile has been read out
            elem *to = dst + b * dst_stride + col0 * ldd + row0;
            const elem *from = src + b * src_stride + row0 * lds + col0;
#if EDGES
            if (row0 + TILE_DIM > rows || col0 + TILE_DIM > cols) {
                move_edge_tile(to, from, lds, ldd, (int)min(rows - row0, (long long)TILE_DIM),
                               (int)min(cols - col0, (long long)TILE_DIM), tile);
                continue;
            }
#endif
            move_whole_tile(to, from, lds, ldd, tile);
        }
}
