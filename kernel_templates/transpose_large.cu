// The whole tiles of transpose_vector, for matrices of which the cache holds a part: in an order that suits
// rows 128 KB apart, and with less work for the cache of what comes next.
//
// Blocks walk down the columns of the source. Where rows are 128 KB apart, what is read at about the same
// time differs in the high bits of its address alone, and how well these spread over the memory depends on
// where the array lies: some 4 % of the time. So a part of the rows is read half a row away from the others.
// Groups of rows of 8 MB have numbers, and SKEW says which bits of a number count: with an odd number of them
// set, the group begins in the middle. What is best for one place (SKEW 0) is worst for another, so that no
// measuring may choose it.
//
// What is read is to be kept, and must be let go of (keep.cuh). Most of it has left the cache by the end,
// whatever its priority: so only the last `tail` columns of tiles, as many as the cache can hold, do not keep
// theirs, and let go of the `tail` columns before them.
//
//@ kernel   transpose_large
//@ op       transpose
//@ param    READ_RUN   256 512
//@ param    WRITE_RUN  256 512
//@ param    VL         8 16
//@ param    VS         8 16
//@ param    THREADS    128 256 512 1024
//@ runtime  SKEW       0 1 41 129 250
//@ where    cc >= 90 AND elem_size >= 4 AND align = 16 AND batch = 1
//@ where    rows * cols * elem_size > 2 * l2_bytes AND lds * elem_size % 128 = 0
//@ where    rows * elem_size % WRITE_RUN = 0 AND cols * elem_size % READ_RUN = 0 AND cols * elem_size >= 2 * READ_RUN
//@ where    VL >= elem_size AND VS >= elem_size
//@ where    iif(SKEW = 0, lds * elem_size <> 131072, lds * elem_size % 131072 = 0)
//@ where    READ_RUN * WRITE_RUN / elem_size / THREADS = 32 AND VL * VS / elem_size <= 32
//@ launch   early
//@ block    THREADS
//@ grid     rows * elem_size / WRITE_RUN, cols * elem_size / READ_RUN
//@ shared   READ_RUN * WRITE_RUN / elem_size
//@ args     dst, src, i64 lds, i64 ldd, i32 min(ceil_div(l2_bytes, rows * READ_RUN), cols * elem_size / READ_RUN / 2), i32 SKEW
//@ default  READ_RUN=256 WRITE_RUN=256 VL=8 VS=8 THREADS=512 SKEW=0

#define STREAM   0
#define PREFETCH 0
#include "early.cuh"
#include "micro_tile.cuh"

#define TILE_COLS   (READ_RUN / ELEM_SIZE)
#define TILE_ROWS   (WRITE_RUN / ELEM_SIZE)
#define ACROSS      (TILE_COLS / MICRO_COLS) // micro-tiles side by side
#define DOWN        (TILE_ROWS / MICRO_ROWS) // and above each other: also the vectors of a shared row
#define MICRO_TILES (ACROSS * DOWN / THREADS)
#define VECTORS     (TILE_COLS * DOWN / THREADS)    // that a thread writes
#define BETWEEN     (THREADS / ACROSS * MICRO_ROWS) // rows from one micro-tile of a thread to its next

#define GROUP    23               // the bits of the offset within a group of rows
#define RESIDENT (2048 / THREADS) // blocks that fill an SM, as long as a thread has 32 registers

// The column of tiles that a block gets, where the columns of a group of rows begin at `first`.
static __device__ unsigned int turned(unsigned int column, unsigned int first, unsigned int columns) {
    column += first;
    return column < columns ? column : column - columns;
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
    transpose_large(elem *dst, const elem *src, long long lds, long long ldd,
                    int tail, int skew) {
    extern __shared__ vec_of<VS>::type tile[];
    typedef vec_of<VL>::type vl;
    typedef vec_of<VS>::type vs;
    const int t = threadIdx.x;
    const long long row = (long long)blockIdx.x * TILE_ROWS;
    const unsigned int columns = gridDim.y;
    const unsigned int group = (unsigned int)(row * lds * ELEM_SIZE >> GROUP);
    const unsigned int first = __popc(group & (unsigned int)skew) & 1 ? columns / 2 : 0;
    const unsigned int column = turned(blockIdx.y, first, columns);
    const bool last = blockIdx.y + (unsigned int)tail >= columns;

    const elem *from = src + (row + t / ACROSS * MICRO_ROWS) * lds + t % ACROSS * MICRO_COLS;
    const elem *at = from + (long long)column * TILE_COLS;
    words_of<VL> in[MICRO_TILES][MICRO_ROWS];
    wait_for_earlier();
    if (!last) {
#pragma unroll
        for (int m = 0; m < MICRO_TILES; m++)
#pragma unroll
            for (int r = 0; r < MICRO_ROWS; r++)
                in[m][r].v = load_kept((const vl *)(at + (m * BETWEEN + r) * lds));
    } else {
#pragma unroll
        for (int m = 0; m < MICRO_TILES; m++)
#pragma unroll
            for (int r = 0; r < MICRO_ROWS; r++)
                in[m][r].v = *(const vl *)(at + (m * BETWEEN + r) * lds);
    }
#pragma unroll
    for (int m = 0; m < MICRO_TILES; m++)
        put(tile, in[m], t % ACROSS, t / ACROSS + m * (THREADS / ACROSS), DOWN);
    __syncthreads();

    const int u = t % DOWN;
    elem *to = dst + ((long long)column * TILE_COLS + t / DOWN) * ldd + row + u * MICRO_ROWS;
#pragma unroll
    for (int k = 0; k < VECTORS; k++)
        *(vs *)(to + k * (THREADS / DOWN) * ldd) = tile[place(t / DOWN + k * (THREADS / DOWN), u, DOWN)];

    if (last) {
        const elem *old =
            from + (long long)turned(blockIdx.y - (unsigned int)tail, first, columns) * TILE_COLS;
#pragma unroll
        for (int m = 0; m < MICRO_TILES; m++)
#pragma unroll
            for (int r = 0; r < MICRO_ROWS; r++)
                let_go(old + (m * BETWEEN + r) * lds);
    }
}
