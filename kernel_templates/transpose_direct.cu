// No shared memory and no barrier: a thread turns a micro-tile in registers and writes it itself. Side by
// side and below each other, the threads of a warp read and write whole sectors of 32 bytes. For matrices
// that the L2 cache holds easily, where a launch is so short that each instruction before the first load
// counts: indices have 32 bits, and batches and edges, which would add some, are compiled for themselves. Elements
// of 16 bytes need no turning: there a thread has DEPTH of them.
//
//@ kernel   transpose_direct
//@ op       transpose
//@ param    VL        4 8 16
//@ param    VS        4 8 16
//@ param    DEPTH     1 4
//@ param    LANES     4 8 16
//@ param    THREADS   64 128 256
//@ param    STREAM    0 1
//@ runtime  ORDER     0 1
//@ derived  BATCHED   batch > 1
//@ derived  EDGES     cols * elem_size % (LANES * VL) > 0 OR rows * elem_size % (THREADS / LANES * DEPTH * VS) > 0
//@ where    VL >= elem_size AND VS >= elem_size AND VL <= align AND VS <= align
//@ where    VL * VS / elem_size BETWEEN 16 AND 128 AND (VS = 16 OR elem_size >= 4)
//@ where    VL * LANES BETWEEN 32 AND 128 AND VS >= LANES AND (DEPTH = 1 OR elem_size = 16)
//@ where    rows * cols * batch * elem_size <= l2_bytes / 4 AND rows * lds < 2147483648 AND cols * ldd < 2147483648
//@ where    batch <= 65535
//@ launch   early
//@ block    THREADS
//@ grid     iif(ORDER = 0, ceil_div(cols * elem_size, LANES * VL), ceil_div(rows * elem_size, THREADS / LANES * DEPTH * VS)), iif(ORDER = 0, ceil_div(rows * elem_size, THREADS / LANES * DEPTH * VS), ceil_div(cols * elem_size, LANES * VL)), batch
//@ args     dst, src, u32 rows, u32 cols, u32 lds, u32 ldd, i32 ORDER, i64 src_stride, i64 dst_stride
//@ default  VL=8 VS=16 DEPTH=1 LANES=8 THREADS=128 STREAM=0 ORDER=0

#include "early.cuh"
#include "micro_tile.cuh"

#define STEP (THREADS / LANES * MICRO_ROWS) // rows from one micro-tile of a thread to the next

// What lies at the thread's place: whole micro-tiles, which need no tests, or what there is of them.
template <bool WHOLE>
static __device__ void move(elem *to, const elem *from, unsigned lds, unsigned ldd, int height, int width) {
    words_of<VL> in[DEPTH][MICRO_ROWS];
#pragma unroll
    for (int d = 0; d < DEPTH; d++)
#pragma unroll
        for (int r = 0; r < MICRO_ROWS; r++) {
            const elem *row = from + (d * STEP + r) * lds;
            if (WHOLE)
                in[d][r].v = load((const vec_of<VL>::type *)row);
            else if (d * STEP + r < height)
                load_edge(in[d][r], row, width, d * STEP + r == height - 1);
        }
#pragma unroll
    for (int c = 0; c < MICRO_COLS; c++)
#pragma unroll
        for (int d = 0; d < DEPTH; d++) {
            words_of<VS> out;
            turn(out, in[d], c);
            elem *row = to + c * ldd + d * STEP;
            if (WHOLE)
                store((vec_of<VS>::type *)row, out.v);
            else if (c < width && d * STEP < height)
                store_edge(row, out.v, height - d * STEP);
        }
}

// One block is as good as many: or else the compiler spills to do with 32 registers.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    transpose_direct(elem *dst, const elem *src, unsigned rows, unsigned cols,
                     unsigned lds, unsigned ldd, int order, long long src_stride, long long dst_stride) {
    // Blocks are numbered along the rows (ORDER 0) or down the columns (ORDER 1) of the source.
    const unsigned bx = order == 0 ? blockIdx.x : blockIdx.y, by = order == 0 ? blockIdx.y : blockIdx.x;
    const unsigned col = (bx * LANES + threadIdx.x % LANES) * MICRO_COLS;
    const unsigned row = (by * (THREADS / LANES * DEPTH) + threadIdx.x / LANES) * MICRO_ROWS;
    const elem *from = src + (row * lds + col);
    elem *to = dst + (col * ldd + row);
#if BATCHED
    from += blockIdx.z * src_stride;
    to += blockIdx.z * dst_stride;
#endif
    wait_for_earlier();
#if EDGES
    if (row + (DEPTH - 1) * STEP + MICRO_ROWS > rows || col + MICRO_COLS > cols) {
        if (row < rows && col < cols)
            move<false>(to, from, lds, ldd, (int)(rows - row), (int)(cols - col));
        return;
    }
#endif
    move<true>(to, from, lds, ldd, 0, 0);
}
