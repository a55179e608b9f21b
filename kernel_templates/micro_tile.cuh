// For templates that turn micro-tiles in registers. A micro-tile is MICRO_ROWS vectors of VL bytes from as many rows, with
// MICRO_COLS elements each. Turned, it is MICRO_COLS vectors of VS bytes.

#include "common.cuh"

#define MICRO_COLS (VL / ELEM_SIZE)
#define MICRO_ROWS (VS / ELEM_SIZE)

// Of a tile of READ_RUN by WRITE_RUN bytes:
#define TILE_COLS   (READ_RUN / ELEM_SIZE)
#define TILE_ROWS   (WRITE_RUN / ELEM_SIZE)
#define ACROSS      (TILE_COLS / MICRO_COLS) // micro-tiles side by side
#define DOWN        (TILE_ROWS / MICRO_ROWS) // and above each other: also the vectors of a shared row
#define MICRO_TILES (ACROSS * DOWN / THREADS)
#define VECTORS     (TILE_COLS * DOWN / THREADS)    // that a thread writes
#define BETWEEN     (THREADS / ACROSS * MICRO_ROWS) // rows from one micro-tile of a thread to its next
// For row r of each micro-tile m of a thread.
#define EACH_VECTOR                                                                                                              \
    _Pragma("unroll") for (int m = 0; m < MICRO_TILES; m++) _Pragma("unroll") for (int r = 0; r < MICRO_ROWS; r++)

// Column `c` of the MICRO_ROWS vectors. After unrolling only byte permutations are left, of small elements.
static __device__ void turn(words_of<VS> &out, const words_of<VL> *in, int c) {
#if ELEM_SIZE >= 4
    const int n = ELEM_SIZE / 4;
#pragma unroll
    for (int r = 0; r < MICRO_ROWS; r++)
#pragma unroll
        for (int k = 0; k < n; k++)
            out.w[r * n + k] = in[r].w[c * n + k];
#elif ELEM_SIZE == 2
#pragma unroll
    for (int k = 0; k < VS / 4; k++)
        out.w[k] = __byte_perm(in[2 * k].w[c / 2], in[2 * k + 1].w[c / 2], c % 2 ? 0x7632 : 0x5410);
#else
#pragma unroll
    for (int k = 0; k < VS / 4; k++) {
        const unsigned int pick = c % 4 == 0 ? 0x0040 : c % 4 == 1 ? 0x0051 : c % 4 == 2 ? 0x0062 : 0x0073;
        const unsigned int low = __byte_perm(in[4 * k].w[c / 4], in[4 * k + 1].w[c / 4], pick);
        const unsigned int high = __byte_perm(in[4 * k + 2].w[c / 4], in[4 * k + 3].w[c / 4], pick);
        out.w[k] = __byte_perm(low, high, 0x5410);
    }
#endif
}

// A tile in shared memory is transposed: a row for each of its columns, `down` vectors long. The vectors of a row are swizzled
// by XOR against bank conflicts.
//
// The way places are computed decides how the compiler orders loads and stores. Elements of 1 and 2 bytes have unsigned
// columns and one address a micro-tile, larger ones an address for each vector: up to 12 and 6 % less time (H200).
#if ELEM_SIZE <= 2
typedef unsigned int column_no;
#else
typedef int column_no;
#endif
static __device__ int place(column_no c, int u, int down) {
    const int banked = 128 / VS; // vectors that span the 32 banks
    return c * down + (u ^ (c / MICRO_COLS % (down < banked ? down : banked)));
}

// Puts the micro-tile that is `across`, `down` in its tile there.
static __device__ void put(vec_of<VS>::type *tile, const words_of<VL> *in, int across, int down, int tile_down) {
    const int first = place(across * MICRO_COLS, down, tile_down);
#pragma unroll
    for (int c = 0; c < MICRO_COLS; c++) {
        words_of<VS> out;
        turn(out, in, c);
        tile[ELEM_SIZE <= 2 ? first + c * tile_down : place(across * MICRO_COLS + c, down, tile_down)] = out.v;
    }
}

// A row ends after `left` elements. A vector may reach into padding or the next row, but not out of the last row.
static __device__ void load_edge(words_of<VL> &in, const elem *from, int left, bool last_row) {
    if (!last_row || left >= MICRO_COLS) {
        in.v = load((const vec_of<VL>::type *)from);
        return;
    }
#pragma unroll
    for (int c = 0; c < MICRO_COLS; c++)
        if (c < left)
            ((elem *)&in)[c] = from[c];
}
// Writes `left` elements: whole words, then the bytes that are left of the last one.
static __device__ void store_part(elem *to, const words_of<VS> &out, int left) {
    unsigned int *words = (unsigned int *)to;
    const int bytes = left * ELEM_SIZE;
    unsigned int rest = 0;
#pragma unroll
    for (int k = 0; k < VS / 4; k++)
        if (4 * k + 4 <= bytes)
            words[k] = out.w[k];
        else if (4 * k < bytes)
            rest = out.w[k];
#if ELEM_SIZE < 4
    unsigned char *end = (unsigned char *)(words + bytes / 4);
    if (bytes & 2)
        *(unsigned short *)end = (unsigned short)rest;
    if (bytes & 1)
        end[bytes & 2] = (unsigned char)(rest >> (bytes & 2) * 8);
#endif
}

static __device__ void store_edge(elem *to, vec_of<VS>::type v, int left) {
    words_of<VS> out;
    out.v = v;
    if (left >= MICRO_ROWS)
        store((vec_of<VS>::type *)to, v);
    else
        store_part(to, out, left);
}

// Reads a micro-tile and puts it into its tile of `height` rows and `width` columns. `last`: it has the matrix's last row.
static __device__ void put_edge(vec_of<VS>::type *tile, const elem *from, long long ld, int height, int width, bool last,
                                int across, int down, int tile_down) {
    words_of<VL> in[MICRO_ROWS];
    const int row = down * MICRO_ROWS, col = across * MICRO_COLS;
    if (row >= height || col >= width)
        return;
#pragma unroll
    for (int r = 0; r < MICRO_ROWS; r++)
        if (row + r < height)
            load_edge(in[r], from + (row + r) * ld + col, width - col, last && row + r == height - 1);
    put(tile, in, across, down, tile_down);
}
