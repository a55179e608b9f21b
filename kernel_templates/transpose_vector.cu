// Micro-tiles are turned in registers, so that global and shared memory are accessed in vectors only.
//
// A tile has READ_RUN by WRITE_RUN bytes: the lengths of the runs that a block reads and writes. A thread loads MICRO_ROWS
// vectors of VL bytes from as many rows, and turns them into MICRO_COLS vectors of VS bytes. These go to shared memory, where
// the tile is already transposed. All loads are in flight before the first store.
//
// SEGMENT is for destination rows that are no whole lines. A run starts at the first multiple of SEGMENT bytes in its row,
// and ends where the next tile's run starts, so that two blocks never write one segment. Tiles overlap for this.
// PREFETCH is for source rows that are no whole lines: the first load of a line brings all of it to the L2 cache.
//
// ORDER numbers blocks along the rows of the source (0), down its columns (1), down its diagonals (2), or along the rows of
// strips of 64 tiles (3). Orders 2 and 3 are for pitches that are large powers of two: whole columns of tiles would otherwise
// meet in the same few memory channels.
//
// The space leaves out configurations that never won and compile slowly: those of more than 128 bytes a thread.
//@ kernel   transpose_vector
//@ op       transpose
//@ param    READ_RUN   128 256 512
//@ param    WRITE_RUN  128 256 512 1024
//@ param    VL         4 8 16
//@ param    VS         4 8 16
//@ param    THREADS    128 256 512 1024
//@ param    STREAM     0 1 2
//@ param    SEGMENT    0 32
//@ param    PREFETCH   0 128 256
//@ runtime  ORDER      0 1 2 3
//@ derived  KEEP       STREAM = 2
//@ let      bytes         rows * cols * batch * elem_size
//@ let      held          READ_RUN * WRITE_RUN / elem_size / THREADS
//@ let      tiles_across  ceil_div(cols * elem_size, READ_RUN)
//@ let      tiles_down    ceil_div(rows * elem_size, WRITE_RUN - max(SEGMENT - VS, 0))
//@ derived  EDGES      SEGMENT > 0 OR cols * elem_size % READ_RUN > 0 OR rows * elem_size % WRITE_RUN > 0
//@ where    VL >= elem_size AND VS >= elem_size AND VL <= align AND VS <= align
//@ where    STREAM <> 1 OR bytes <= l2_bytes
//@ where    NOT KEEP OR (bytes > 2 * l2_bytes AND elem_size > 1 AND cc >= 80 AND lds * elem_size % 128 = 0)
//@ where    SEGMENT = 0 OR (ldd * elem_size % SEGMENT > 0 AND WRITE_RUN >= 2 * SEGMENT)
//@ where    PREFETCH = 0 OR (STREAM <> 1 AND cc >= 80 AND lds * elem_size % 128 > 0 AND PREFETCH = iif(elem_size > 1 AND bytes > 2 * l2_bytes, 256, 128))
//@ where    ORDER <> 2 OR lds * elem_size % 32768 = 0 OR ldd * elem_size % 32768 = 0
//@ where    ORDER <> 3 OR (elem_size >= 8 AND batch = 1 AND lds * elem_size % 131072 = 0 AND ldd * elem_size % 131072 = 0)
//@ where    iif(lds * elem_size % 128 > 0 OR ldd * elem_size % 128 > 0, THREADS >= 256, WRITE_RUN <= 512 AND THREADS <= 512)
//@ where    VL <= 2 * VS AND VL * VS / elem_size <= 128
//@ where    (READ_RUN / VL) * (WRITE_RUN / VS) % THREADS = 0
//@ where    held BETWEEN 16 AND 128 AND READ_RUN * WRITE_RUN / elem_size <= 65536
//@ where    held < 128 OR min(VL, VS) >= min(8, align)
//@ where    THREADS % (READ_RUN / VL) = 0 AND THREADS % (WRITE_RUN / VS) = 0
//@ where    batch <= 65535
//@ launch   early
//@ block    THREADS
//@ grid     iif(ORDER = 3, 64, iif(ORDER = 0, tiles_across, tiles_down)), iif(ORDER IN (0, 3), tiles_down, tiles_across), iif(ORDER = 3, ceil_div(tiles_across, 64), batch)
//@ shared   READ_RUN * WRITE_RUN / elem_size
//@ args     dst, src, i64 rows, i64 cols, i64 lds, i64 ldd, i64 src_stride, i64 dst_stride, i32 ORDER
//@ default  READ_RUN=128 WRITE_RUN=128 VL=4 VS=4 THREADS=256 STREAM=0 SEGMENT=0 PREFETCH=0 ORDER=1

#include "micro_tile.cuh"

#define STRIP 64 // tiles side by side

// Bytes of a destination row from the beginning of a tile to that of the next one.
#define STEP (WRITE_RUN - (SEGMENT > 0 ? SEGMENT - VS : 0))

// Does this block write vector `u` of the destination row at `to`? A row has one segment more if its first one begins
// with the tile: the next tile begins STEP bytes later, just after the beginning of a segment.
static __device__ bool is_ours(const elem *to, int u, bool first) {
#if SEGMENT == 0
    return true;
#else
    const int begin = (int)(-(unsigned long long)to % SEGMENT) / VS;
    const int end = (begin > 0 ? begin : SEGMENT / VS) + (WRITE_RUN - SEGMENT) / VS;
    return (first || u >= begin) && u < end;
#endif
}

static __device__ void move_whole_tile(elem *dst, const elem *src, long long lds, long long ldd, bool first,
                                       vec_of<VS>::type *tile) {
    typedef vec_of<VL>::type vl;
    typedef vec_of<VS>::type vs;
    const int t = threadIdx.x;
    words_of<VL> in[MICRO_TILES][MICRO_ROWS];

    src += (long long)(t / ACROSS * MICRO_ROWS) * lds + t % ACROSS * MICRO_COLS;
    EACH_VECTOR in[m][r].v = fetch((const vl *)(src + (m * BETWEEN + r) * lds));
#pragma unroll
    for (int m = 0; m < MICRO_TILES; m++)
        put(tile, in[m], t % ACROSS, t / ACROSS + m * (THREADS / ACROSS), DOWN);
    __syncthreads();

    const int u = t % DOWN;
    dst += (long long)(t / DOWN) * ldd;
#pragma unroll
    for (int k = 0; k < VECTORS; k++) {
        elem *row = dst + k * (THREADS / DOWN) * ldd;
        if (is_ours(row, u, first))
            store((vs *)(row + u * MICRO_ROWS), tile[place(t / DOWN + k * (THREADS / DOWN), u, DOWN)]);
    }
#if KEEP
    EACH_VECTOR let_go(src + (m * BETWEEN + r) * lds);
#endif
}

// `height` and `width`: from the tile's first element to the end of the matrix.
static __device__ void move_edge_tile(elem *dst, const elem *src, long long lds, long long ldd, int height, int width, bool first,
                                      vec_of<VS>::type *tile) {
#pragma unroll 1
    for (int k = threadIdx.x; k < ACROSS * DOWN; k += THREADS)
        put_edge(tile, src, lds, height, width, true, k % ACROSS, k / ACROSS, DOWN);
    __syncthreads();
#pragma unroll 1
    for (int k = threadIdx.x; k < TILE_COLS * DOWN; k += THREADS) {
        const int c = k / DOWN, u = k % DOWN, row = u * MICRO_ROWS;
        elem *to = dst + c * ldd;
        if (c < width && row < height && is_ours(to, u, first))
            store_edge(to + row, tile[place(c, u, DOWN)], height - row);
    }
}

// Blocks an SM shall hold, or the compiler takes more registers than it needs.
#define HELD     (READ_RUN * WRITE_RUN / ELEM_SIZE / THREADS) // bytes
#define RESIDENT (ELEM_SIZE > 2 ? 0 : (HELD <= 32 ? 2048 : HELD <= 64 ? 1536 : 1024) / THREADS)

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
    transpose_vector(elem *dst, const elem *src, long long rows, long long cols, long long lds, long long ldd,
                     long long src_stride, long long dst_stride, int order) {
    extern __shared__ vec_of<VS>::type tile[];

    const bool strips = ELEM_SIZE >= 8 && order == 3; // smaller elements gain nothing by it
    const unsigned bx = strips       ? blockIdx.z * STRIP + blockIdx.x
                        : order == 0 ? blockIdx.x
                        : order == 1 ? blockIdx.y
                                     : (blockIdx.x + blockIdx.y) % gridDim.y;
    const unsigned by = strips || order == 0 ? blockIdx.y : blockIdx.x, matrix = strips ? 0 : blockIdx.z;
    const long long col0 = (long long)bx * TILE_COLS;
    const long long row0 = (long long)by * (STEP / ELEM_SIZE);
    if (strips && col0 >= cols)
        return;
    elem *to = dst + matrix * dst_stride + col0 * ldd + row0;
    const elem *from = src + matrix * src_stride + row0 * lds + col0;
    wait_for_earlier();
#if EDGES
    if (row0 + TILE_ROWS > rows || col0 + TILE_COLS > cols) {
        move_edge_tile(to, from, lds, ldd, (int)min(rows - row0, (long long)1 << 30), (int)min(cols - col0, (long long)1 << 30),
                       row0 == 0, tile);
        return;
    }
#endif
    move_whole_tile(to, from, lds, ldd, row0 == 0, tile);
}
