// As transpose_in_place, for rows that begin anywhere. Tiles are read in aligned vectors of 16 bytes and written in aligned
// vectors of VS bytes. The first and the last of a row may be shorter. The threads of a row begin with its first whole
// line, and come to the elements before it last.
//@ kernel   transpose_in_place_unaligned
//@ op       transpose_in_place
//@ param    RUN      128 256 512
//@ param    VS       4 8 16
//@ param    THREADS  128 256 512
//@ derived  SKEW     ldd * elem_size % 16
//@ derived  KEEP     rows * cols * batch * elem_size > l2_bytes
//@ derived  BATCHED  batch > 1
//@ where    align < 16 AND VS >= elem_size AND VS <= 8 * elem_size
//@ where    RUN * RUN / elem_size / 16 / THREADS BETWEEN 1 AND 8
//@ launch   early
//@ block    THREADS
//@ let      side ceil_div(rows * elem_size, RUN)
//@ grid     side | 1, (side + 1) / 2, min(batch, 65535)
//@ shared   2 * (RUN / elem_size * ((RUN + 45 - SKEW) / 16 * 16 + SKEW) + 96)
//@ args     dst, i64 rows, i64 ldd, i32 batch, i64 dst_stride
//@ default  RUN=128 VS=8 THREADS=128

#define PREFETCH 128
#define PADDED   0
#include "chunk.cuh"
#include "in_place.cuh"

#define TILE    (RUN / ELEM_SIZE)
#define PITCH   TILE_PITCH(TILE)
#define LINE    128
#define ACROSS  (RUN / VS) // vectors of a row
#define AT_ONCE (THREADS / ACROSS)
// Registers that a thread needs, and the blocks that an SM has registers for.
#define REGISTERS (2 * 4 * carried<TILE, TILE>::EACH + 40)
#define BLOCKS    (65536 / (REGISTERS * THREADS) > 0 ? 65536 / (REGISTERS * THREADS) : 1)

// Writes `rows` rows of `n` elements from the columns of the tile.
template <bool WHOLE> static __device__ void write_rows(elem *dst, long long ld, int rows, int n, const char *tile, int head) {
    const int across = threadIdx.x % ACROSS, first = threadIdx.x / ACROSS;
    elem *row = dst + first * ld;
    const char *from = tile + head + first * ELEM_SIZE;
#pragma unroll 4
    for (int c = 0; c < TILE; c += AT_ONCE) {
        const int q = before(row, VS) + (across + before(row, LINE) / PER) % ACROSS * PER;
        const bool is = WHOLE ? PER == 1 || q + PER <= TILE : first + c < rows && q + PER <= n;
        unsigned int words[WORDS];
#pragma unroll
        for (int j = 0; j < PER; j++)
            set_element(words, j, *(const elem *)(from + (is ? q : 0) * PITCH + j * PITCH));
        store_if<VS>(is, row + q, words);
        row += AT_ONCE * ld;
        from += AT_ONCE * ELEM_SIZE;
    }
    if (PER > 1)
        write_ends(dst, ld, rows, n, [&](int c, int q) { return tile + head + q * PITCH + c * ELEM_SIZE; });
}
static __device__ void write_tile(elem *dst, long long ld, int rows, int n, const char *tile, int head) {
    if (rows == TILE && n == TILE)
        write_rows<true>(dst, ld, rows, n, tile, head);
    else
        write_rows<false>(dst, ld, rows, n, tile, head);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    transpose_in_place_unaligned(elem *dst, long long n, long long ld, int batch, long long stride) {
    extern __shared__ uint4 shared[];
    char *upper_tile = (char *)shared, *lower_tile = upper_tile + (TILE * PITCH + 95) / VEC * VEC;
    const tile_above at((int)((n + TILE - 1) / TILE));
    const int height = (int)min(n - at.row * TILE, (long long)TILE), width = (int)min(n - at.col * TILE, (long long)TILE);
    const elem *end = dst + (batch - 1) * stride + (n - 1) * ld + n;
    const auto read = [](uint4 &to, bool is, const uint4 *from) { read_over(to, is, from); };
    wait_for_earlier();
    for (int b = BATCHED ? blockIdx.z : 0; b < batch; b += gridDim.z) {
        elem *upper = dst + b * stride + at.row * TILE * ld + at.col * TILE;
        elem *lower = dst + b * stride + at.col * TILE * ld + at.row * TILE;
        const runs from_upper = {upper, ld, height, width, dst, end, false};
        const runs from_lower = {lower, ld, width, height, dst, end, false};
        const bool two = upper != lower; // on the diagonal there is only one
        if (BATCHED && b != blockIdx.z)
            __syncthreads(); // the last tiles have been read out
        carried<TILE, TILE> one, other;
        one.load(from_upper, read);
        if (two)
            other.load(from_lower, read);
        one.put_into(upper_tile, from_upper);
        if (two)
            other.put_into(lower_tile, from_lower);
        __syncthreads();
        write_tile(lower, ld, width, height, upper_tile, past(upper, VEC));
        if (two)
            write_tile(upper, ld, height, width, lower_tile, past(lower, VEC));
    }
}
