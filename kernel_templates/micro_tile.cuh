// What the templates that turn micro-tiles in registers share: included by them, no template of its own.
//
// A micro-tile is MICRO_ROWS vectors of VL bytes, which lie in as many rows and hold MICRO_COLS elements each.
// Turned, it is MICRO_COLS vectors of VS bytes. STREAM 1 marks global accesses as used once, STREAM 2
// what is read as to be kept for a while (keep.cuh). PREFETCH is what a load brings into the L2 cache, in bytes: 0 for no
// more than it asks for.

#include "keep.cuh"

#if ELEM_SIZE == 1
typedef unsigned char elem;
#elif ELEM_SIZE == 2
typedef unsigned short elem;
#elif ELEM_SIZE == 4
typedef unsigned int elem;
#elif ELEM_SIZE == 8
typedef uint2 elem;
#else
typedef uint4 elem;
#endif

#define MICRO_COLS (VL / ELEM_SIZE)
#define MICRO_ROWS (VS / ELEM_SIZE)

template <int BYTES> struct vec_of;
template <> struct vec_of<4> { typedef unsigned int type; };
template <> struct vec_of<8> { typedef uint2 type; };
template <> struct vec_of<16> { typedef uint4 type; };

// A vector of BYTES as its 32-bit words.
template <int BYTES> union words_of {
    typename vec_of<BYTES>::type v;
    unsigned int w[BYTES / 4];
};

template <class T> static __device__ T load(const T *p) {
    return STREAM == 1 ? __ldcs(p) : *p;
}

template <class T> static __device__ void store(T *p, T v) {
    if (STREAM == 1)
        __stcs(p, v);
    else
        *p = v;
}

#if PREFETCH > 0 && !defined __HOSTCUDA__ // the CPU stand-in of the tests speaks no PTX
#if PREFETCH == 128
#define AHEAD ".L2::128B"
#else
#define AHEAD ".L2::256B"
#endif
static __device__ unsigned int load_ahead(const unsigned int *from) {
    unsigned int v;
    asm volatile("ld.global" AHEAD ".b32 %0, [%1];" : "=r"(v) : "l"(from));
    return v;
}
static __device__ uint2 load_ahead(const uint2 *from) {
    uint2 v;
    asm volatile("ld.global" AHEAD ".v2.b32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(from));
    return v;
}
static __device__ uint4 load_ahead(const uint4 *from) {
    uint4 v;
    asm volatile("ld.global" AHEAD ".v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from));
    return v;
}
#else
template <class T> static __device__ T load_ahead(const T *p) {
    return load(p);
}
#endif

// The same for whole tiles, where all threads of a block pass: with STREAM 2 what is read is kept until `let_go`, or until it
// is written over.
#if STREAM == 2
template <class T> static __device__ T load_together(const T *p) {
    return load_kept(p);
}
template <class T> static __device__ void store_over(T *p, T v) {
    store_and_let_go(p, v);
}
#else
template <class T> static __device__ T load_together(const T *p) {
    return load_ahead(p);
}
template <class T> static __device__ void store_over(T *p, T v) {
    store(p, v);
}
#endif

// One vector of the transposed micro-tile: column `c` of the MICRO_ROWS vectors. All indices are constants
// after unrolling; what is left are byte permutations for the small types, and nothing for the others.
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

// A tile in shared memory stands transposed already: a row for each of its columns, `down` vectors long. The
// vectors of a row are swizzled by XOR, so that neither filling nor reading has bank conflicts.
//
// How the places are computed decides in what order the compiler lets loads and stores go. For elements of 1 and 2
// bytes unsigned columns and one address for a micro-tile, whose columns are swizzled alike, take up to 12 % less
// time (1024 x 1024 at 1 byte, H200); for larger ones an address for each vector, up to 6 % (2048 x 2048 at 4).
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

// Where a row ends after `left` elements. A vector that reaches over the end of a source row reads padding or
// the next row; only of the last row is it read element by element.
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
// What is written there: whole words, and what there is of the one behind them.
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

// Reads a micro-tile and puts it into its tile, of which there are `height` rows and `width` columns: with the
// `last` row of the matrix as their last, or not.
static __device__ void put_edge(vec_of<VS>::type *tile, const elem *from, long long ld, int height, int width,
                                bool last, int across, int down, int tile_down) {
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
