// The whole tiles of transpose_vector, for matrices much larger than the L2 cache, in orders that suit memory of five stacks.
//
// Blocks that run together read a few rows of tiles, and write a narrow column of all destination rows. If these rows are
// 80 KB apart, or another multiple of five, they begin in the same channels of the memory. Then what is written together
// should not lie side by side: the next row of tiles is STEP rows further down. Rows that are left over come last.
//
// Memory is read fastest in the order of its addresses. So strips of STRIP tiles (0: whole rows) are read one after the
// other, and PER_SM blocks share an SM: each takes more shared memory than it needs.
//@ kernel   transpose_spread
//@ op       transpose
//@ param    READ_RUN   256 512
//@ param    VS         8 16
//@ runtime  STRIP      0 128
//@ runtime  STEP       1 16 64
//@ runtime  PER_SM     3 4
//@ let      tile   READ_RUN * 256 / elem_size
//@ let      across cols * elem_size / READ_RUN
//@ let      down   rows * elem_size / 256
//@ where    cc >= 80 AND align = 16 AND batch = 1 AND elem_size <= 8
//@ where    rows * cols * elem_size > 2 * l2_bytes AND lds * elem_size % 128 = 0
//@ where    rows * elem_size % 256 = 0 AND cols * elem_size % READ_RUN = 0
//@ where    STRIP < across AND tile / 512 >= 8 * VS / elem_size
//@ where    (READ_RUN = 256 OR elem_size >= 4) AND (PER_SM = 3 OR tile <= 16384) AND PER_SM * (tile + 1024) <= shared_per_block + 1024
//@ launch   early
//@ block    512
//@ grid     across * down
//@ shared   max(tile, (shared_per_block + 1024) / PER_SM / 128 * 128 - 1024)
//@ args     dst, src, i64 lds, i64 ldd, i32 across, i32 down, i32 iif(STRIP = 0, across, STRIP), i32 STEP
//@ default  READ_RUN=512 VS=16 STRIP=0 STEP=16 PER_SM=3

#define WRITE_RUN 256
#define VL        8
#define THREADS   512
#define KEEP      (ELEM_SIZE > 1)
#include "micro_tile.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, READ_RUN * WRITE_RUN / ELEM_SIZE <= 16384 ? 4 : ELEM_SIZE > 1 ? 3 : 0)
    transpose_spread(elem *dst, const elem *src, long long lds, long long ldd, unsigned int across, unsigned int down,
                     unsigned int strip, unsigned int step) {
    extern __shared__ vec_of<VS>::type tile[];
    typedef vec_of<VL>::type vl;
    typedef vec_of<VS>::type vs;
    const int t = threadIdx.x;
    const unsigned int first = blockIdx.x / (strip * down) * strip, wide = min(strip, across - first);
    const unsigned int in_strip = blockIdx.x - first * down, nth = in_strip / wide, turns = down / step;
    const unsigned int y = nth < turns * step ? nth / turns + nth % turns * step : nth;
    const long long row = (long long)y * TILE_ROWS, col = (long long)(first + in_strip - nth * wide) * TILE_COLS;

    const elem *from = src + (row + t / ACROSS * MICRO_ROWS) * lds + col + t % ACROSS * MICRO_COLS;
    words_of<VL> in[MICRO_TILES][MICRO_ROWS];
    wait_for_earlier();
    EACH_VECTOR in[m][r].v = fetch((const vl *)(from + (m * BETWEEN + r) * lds));
#pragma unroll
    for (int m = 0; m < MICRO_TILES; m++)
        put(tile, in[m], t % ACROSS, t / ACROSS + m * (THREADS / ACROSS), DOWN);
    __syncthreads();

    const int u = t % DOWN;
    elem *to = dst + (col + t / DOWN) * ldd + row + u * MICRO_ROWS;
#pragma unroll
    for (int k = 0; k < VECTORS; k++)
        *(vs *)(to + k * (THREADS / DOWN) * ldd) = tile[place(t / DOWN + k * (THREADS / DOWN), u, DOWN)];
#if KEEP
    EACH_VECTOR let_go(from + (m * BETWEEN + r) * lds);
#endif
}
