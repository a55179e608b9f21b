// Micro-tiles without shared memory or a barrier: a thread turns one in registers and writes it itself. The threads of a warp
// together read and write whole sectors. This is for short launches: indices have 32 bits, and batches and edges are compiled
// in only where they occur. Elements of 16 bytes need no turning: a thread takes DEPTH of them.
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
//@ let      width    LANES * VL
//@ let      height   THREADS / LANES * DEPTH * VS
//@ let      tiles_across ceil_div(cols * elem_size, width)
//@ let      tiles_down ceil_div(rows * elem_size, height)
//@ derived  EDGES    cols * elem_size % width > 0 OR rows * elem_size % height > 0
//@ where    VL >= elem_size AND VS >= elem_size AND VL <= align AND VS <= align
//@ where    VL * VS / elem_size BETWEEN 16 AND 128 AND (VS = 16 OR elem_size >= 4)
//@ where    width BETWEEN 32 AND 128 AND VS >= LANES AND (DEPTH = 1 OR elem_size = 16)
//@ where    rows * cols * batch * elem_size <= l2_bytes / 4 AND rows * lds < 2147483648 AND cols * ldd < 2147483648
//@ where    batch <= 65535
//@ launch   early
//@ block    THREADS
//@ grid     iif(ORDER = 0, tiles_across, tiles_down), iif(ORDER = 0, tiles_down, tiles_across), batch
//@ args     dst, src, u32 rows, u32 cols, u32 lds, u32 ldd, i32 ORDER, i64 src_stride, i64 dst_stride
//@ default  VL=8 VS=16 DEPTH=1 LANES=8 THREADS=128 STREAM=0 ORDER=0

#include "micro_tile.cuh"

#define STEP (THREADS / LANES * MICRO_ROWS) // rows from one micro-tile of a thread to the next

// Moves the micro-tiles at the thread's place. WHOLE ones need no tests.
template <bool WHOLE> static __device__ void move(elem *to, const elem *from, unsigned lds, unsigned ldd, int height, int width) {
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

// One block a multiprocessor is enough. With more the compiler would spill, to need 32 registers only.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    transpose_direct(elem *dst, const elem *src, unsigned rows, unsigned cols, unsigned lds, unsigned ldd, int order,
                     long long src_stride, long long dst_stride) {
    const unsigned bx = block_across(order), by = block_down(order);
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
