// The whole tiles of transpose_vector, down the columns, for matrices much larger than the L2 cache.
//
// SKEW is for rows 128 KB apart. Addresses that are read together then differ in their high bits alone, and their spread over
// the memory varies with the place of the array, by 4 % of the time. So a group of rows (8 MB) is read half a row
// away if its number shares an odd number of bits with SKEW. Measuring cannot choose SKEW 0 here: the best for one place is
// the worst for another.
//
// Loads keep their lines (KEEP), except in the last `tail` columns of tiles, as many as the cache can hold. These release
// the `tail` columns before them. Older lines have left the cache by then.
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

#define KEEP 1
#include "micro_tile.cuh"
#define GROUP    23               // the bits of the offset within a group of rows
#define RESIDENT (2048 / THREADS) // blocks that fill an SM, as long as a thread has 32 registers

// The column of tiles of a block. The columns of its group of rows begin at `first`.
static __device__ unsigned int turned(unsigned int column, unsigned int first, unsigned int columns) {
    column += first;
    return column < columns ? column : column - columns;
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
    transpose_large(elem *dst, const elem *src, long long lds, long long ldd, int tail, int skew) {
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
        EACH_VECTOR in[m][r].v = fetch((const vl *)(at + (m * BETWEEN + r) * lds));
    } else {
        EACH_VECTOR in[m][r].v = *(const vl *)(at + (m * BETWEEN + r) * lds);
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
        const elem *old = from + (long long)turned(blockIdx.y - (unsigned int)tail, first, columns) * TILE_COLS;
        EACH_VECTOR let_go(old + (m * BETWEEN + r) * lds);
    }
}
