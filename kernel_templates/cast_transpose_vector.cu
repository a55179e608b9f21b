// Rows of whole vectors on both sides. A thread reads vectors of VL bytes, converts them in registers and packs the rows of each
// column into words. These go to shared memory, from where columns are written in vectors of VS bytes. The rows of `cast` are
// written at once. All loads are in flight before the first conversion. Vectors are the widest that all rows have.
//
// LANES   threads of a warp side by side; the others are below them
// STREAM  1 and 2 as in common.cuh: the cache may evict first what was read and written, or keeps lines until they were read
// ORDER   numbers blocks along the rows of the source (0) or down its columns (1), where the grid allows it
//@ kernel   cast_transpose_vector
//@ op       cast_transpose
//@ param    TILE_COLS  32 64 128 256
//@ param    TILE_ROWS  32 64 128 256
//@ param    LANES      4 8 16 32
//@ param    THREADS    128 256 512
//@ param    STREAM     0 1 2
//@ runtime  ORDER      0 1
//@ derived  FROM       CASE WHEN S = 'f32' THEN 0 WHEN S = 'f16' THEN 1 ELSE 2 END
//@ derived  TO         CASE WHEN D = 'f32' THEN 0 WHEN D = 'f16' THEN 1 WHEN D = 'bf16' THEN 2 WHEN D = 'e4m3' THEN 3 ELSE 4 END
//@ derived  WANTED     outputs
//@ derived  EDGES      cols % TILE_COLS > 0 OR rows % TILE_ROWS > 0
//@ let      read       iif(S = 'f32', 4, 2)
//@ derived  VL         min(align_of(cols * read), 16 * read / elem_size)
//@ derived  VS         align_of(rows * elem_size)
//@ let      held       TILE_COLS * TILE_ROWS * read / THREADS
//@ let      bytes      rows * cols * (read + elem_size)
//@ let      tiles_across ceil_div(cols, TILE_COLS)
//@ let      tiles_down ceil_div(rows, TILE_ROWS)
//@ where    min(VL, VS, VL / read * elem_size) >= 4
//@ where    TILE_COLS % (VL / read * LANES) = 0 AND TILE_ROWS * elem_size / 4 % (THREADS * VL / read / TILE_COLS) = 0
//@ where    held BETWEEN max(32, VL * 4 / elem_size) AND 256
//@ where    THREADS % (TILE_ROWS * elem_size / VS) = 0 AND TILE_COLS % (THREADS / (TILE_ROWS * elem_size / VS)) = 0
//@ where    THREADS / 32 % (TILE_COLS / (VL / read * LANES)) = 0 AND TILE_COLS * TILE_ROWS * elem_size <= 65536
//@ where    STREAM <> 1 OR bytes <= 2 * l2_bytes
//@ where    STREAM <> 2 OR (bytes > 2 * l2_bytes AND cc >= 80 AND cols * read % 128 = 0)
//@ let      turn       iif(tiles_across > 65535, 0, iif(tiles_down > 65535, 1, ORDER))
//@ launch   early
//@ block    THREADS
//@ grid     iif(turn = 0, tiles_across, tiles_down), iif(turn = 0, tiles_down, tiles_across)
//@ shared   TILE_COLS * TILE_ROWS * elem_size
//@ args     dst, cast, amax, src, scale, i64 rows, i64 cols, i32 turn
//@ default  TILE_COLS=64 TILE_ROWS=128 LANES=8 THREADS=128 STREAM=0 ORDER=0

#define KEEP (STREAM == 2)
#include "cast_transpose.cuh"

#define V      (VL / (int)sizeof(S))
#define GROUPS (TILE_ROWS / PER_WORD)                // words of a column
#define ACROSS (TILE_COLS / V / LANES)               // warps side by side
#define BELOW  (THREADS / (ACROSS * LANES))          // threads below each other
#define PACKS  (GROUPS / BELOW)                      // of a thread: V columns and PER_WORD rows
#define HELD   (PACKS * PER_WORD * VL)               // bytes
#define DOWN   (TILE_ROWS * ELEM_SIZE / VS)          // vectors of a column
#define ROW    (V * ELEM_SIZE)                       // bytes of a row of `cast`
#define EACH_ROW                                                                                                                 \
    _Pragma("unroll") for (int k = 0; k < PACKS; k++) _Pragma("unroll") for (int r = 0; r < PER_WORD; r++)

// Columns that a warp fills at once are V apart. Chunks of 16 bytes are swizzled for them.
#define CHUNKS (GROUPS < 32 ? GROUPS / 4 : 8)
static __device__ unsigned place(unsigned c, unsigned group) {
    return c * GROUPS + (group ^ c / V % CHUNKS * 4);
}

// Writes row r of V columns.
static __device__ void put_row(D *to, const unsigned *w, int r) {
    words_of<ROW> out;
#pragma unroll
    for (int i = 0; i < ROW / 4; i++)
        out.w[i] = row_word(w + i * PER_WORD, r);
    store((vec_of<ROW>::type *)to, out.v);
}

// Blocks an SM shall hold, or the compiler takes more registers than it needs.
#define RESIDENT ((HELD <= 64 ? EDGES ? 1280 : 1536 : HELD <= 128 ? EDGES ? 768 : 1024 : 512) / THREADS)

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
    cast_transpose_vector(D *dst, D *cast, float *amax, const S *src, const float *scale, long long rows, long long cols,
                          int order) {
    extern __shared__ uint4 shared[];
    typedef vec_of<VS>::type vs;
    unsigned *tile = (unsigned *)shared;
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const unsigned c0 = (warp % ACROSS * LANES + lane % LANES) * V, g0 = warp / ACROSS * (WARP / LANES) + lane / LANES;
    const long long col0 = (long long)block_across(order) * TILE_COLS, row0 = (long long)block_down(order) * TILE_ROWS;
    const long long first = row0 + g0 * PER_WORD; // row of the thread
    const bool within = !EDGES || col0 + c0 < cols;
    words_of<VL> in[PACKS][PER_WORD];
    float most = 0;

    src += first * cols + col0 + c0;
    cast += first * cols + col0 + c0;
    wait_for_earlier();
    const float factor = *scale;
    EACH_ROW {
        in[k][r].v = vec_of<VL>::type();
        if (!EDGES || (within && first + k * BELOW * PER_WORD + r < rows))
            in[k][r].v = fetch((const vec_of<VL>::type *)(src + (k * BELOW * PER_WORD + r) * cols));
    }
#pragma unroll
    for (int k = 0; k < PACKS; k++) {
        unsigned w[V];
#pragma unroll
        for (int e = 0; e < V; e++) {
            unsigned bits[PER_WORD];
#pragma unroll
            for (int r = 0; r < PER_WORD; r++)
                bits[r] = bits_of(in[k][r], e);
            w[e] = convert(bits, factor, most);
            tile[place(c0 + e, g0 + k * BELOW)] = w[e];
        }
#pragma unroll
        for (int r = 0; r < PER_WORD && (WANTED & 2); r++)
            if (!EDGES || (within && first + k * BELOW * PER_WORD + r < rows))
                put_row(cast + (k * BELOW * PER_WORD + r) * cols, w, r);
    }
    meet_and_raise(amax, most);
#if KEEP
    EACH_ROW if (!EDGES || (within && first + k * BELOW * PER_WORD + r < rows))
        let_go(src + (k * BELOW * PER_WORD + r) * cols);
#endif
    const unsigned u = threadIdx.x % DOWN, c = threadIdx.x / DOWN;
    dst += (col0 + c) * rows + row0 + u * (VS / ELEM_SIZE);
#pragma unroll
    for (int k = 0; k < TILE_COLS; k += THREADS / DOWN)
        if (!EDGES || (row0 + u * (VS / ELEM_SIZE) < rows && col0 + c + k < cols))
            store((vs *)(dst + k * rows), *(const vs *)&tile[place(c + k, u * (VS / 4))]);
}
