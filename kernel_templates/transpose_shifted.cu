// Rows that are not aligned to 16 bytes, elements of 1, 2 or 4 bytes. All accesses are aligned 32-bit words. Whole tiles are
// written in chunks of four words with VS 16. Shifts and permutations in registers bring the bytes to their places.
//
// A micro-tile is one word wide and as many rows high as a word holds elements. The bytes of a row lie in two aligned words,
// which a funnel shift joins. The second word comes from the next lane. A turned micro-tile goes to shared memory. A run of
// the destination begins anywhere in a word there, so a second shift makes aligned words of it.
//
// A written run starts at the first multiple of 32 bytes in its row, so that two blocks never write one sector. For this a
// tile is read 32 bytes further down than its neighbour begins.
//
// CLUSTER  tiles side by side that run at the same time and near each other. They share the lines where their runs meet.
// STAY     0: a block for each tile. Else so many blocks for each SM stay and take tiles in turn. This is for matrices of
//          few tiles a block, where the last blocks would run alone. A block reads its next tile before it writes the last.
// OWN      tiles inside the matrix have a path of their own, a third shorter. With many loads it pays for many tiles only.
//@ kernel   transpose_shifted
//@ op       transpose
//@ param    READ_RUN   128 256 512
//@ param    WRITE_RUN  64 128 256 512
//@ param    THREADS    128 256 512
//@ param    VS         4 16
//@ param    CLUSTER    1 2 4
//@ param    STAY       0 4 5
//@ runtime  ORDER      0 1
//@ let      tiles_across ceil_div(cols * elem_size, READ_RUN)
//@ let      tiles_down ceil_div(rows * elem_size, WRITE_RUN)
//@ let      loads READ_RUN / 4 * (WRITE_RUN + 32) / elem_size / THREADS
//@ derived  OWN        STAY = 0 AND (loads <= 20 OR tiles_down * tiles_across * batch > 6 * sm_count)
//@ where    elem_size <= 4 AND align BETWEEN elem_size AND 8
//@ where    THREADS >= READ_RUN / 4 AND THREADS >= WRITE_RUN / 4
//@ where    (WRITE_RUN + 32) / 4 % (THREADS / (READ_RUN / 4)) = 0
//@ where    READ_RUN * WRITE_RUN / elem_size / THREADS >= 16
//@ where    loads <= 36
//@ where    VS = 4 OR (elem_size <= 2 AND READ_RUN = 128 AND WRITE_RUN BETWEEN 128 AND 128 * elem_size AND THREADS = 256)
//@ where    CLUSTER = 1 OR (READ_RUN = 128 AND THREADS = 256 AND ORDER = 1 AND cc >= 90 AND (elem_size = 1 OR (elem_size = 2 AND WRITE_RUN >= 128 AND CLUSTER = 2)))
//@ where    batch <= 65535
//@ where    STAY = 0 OR (READ_RUN = 128 AND WRITE_RUN = 128 AND THREADS = 256 AND CLUSTER = 1 AND ORDER = 0 AND batch = 1 AND elem_size = 1 AND VS = 16 AND lds >= 4)
//@ where    STAY = 0 OR tiles_down * tiles_across BETWEEN sm_count * STAY + 1 AND sm_count * 16
//@ launch   early
//@ block    THREADS
//@ grid     iif(ORDER = 0, tiles_across, tiles_down), iif(ORDER = 0, iif(STAY = 0, tiles_down, min(tiles_down, max(1, sm_count * STAY / tiles_across))), ceil_div(cols * elem_size, READ_RUN * CLUSTER) * CLUSTER), batch
//@ shared   READ_RUN / elem_size * (WRITE_RUN + 32 + iif(VS = 4, 4, 8))
//@ args     dst, src, i64 rows, i64 cols, i64 lds, i64 ldd, i64 src_stride, i64 dst_stride, i32 ORDER
//@ default  READ_RUN=128 WRITE_RUN=128 THREADS=256 VS=4 CLUSTER=1 STAY=0 ORDER=1

#include "common.cuh"

typedef unsigned int word;

#define WARP      32
#define WORD      4
#define SECTOR    32
#define E         (WORD / ELEM_SIZE) // rows and columns of a micro-tile
#define TILE_COLS (READ_RUN / ELEM_SIZE)
#define TILE_ROWS (WRITE_RUN / ELEM_SIZE)
#define READ_ROWS (TILE_ROWS + SECTOR / ELEM_SIZE)

// Reading: micro-tiles side by side, and so many of them above each other at once.
#define ACROSS      (READ_RUN / WORD)
#define ABOVE       (THREADS / ACROSS)
#define MICRO_TILES (READ_ROWS / E / ABOVE)
#define LOADS       (MICRO_TILES * E)

// Of a column in shared memory. Against bank conflicts it is an odd number of words where words are written, and an even
// one where chunks of four are.
#define PITCH (WRITE_RUN + SECTOR + (VS == WORD ? WORD : 2 * WORD))

// One tile: its first elements, pitches in bytes, and its size.
struct tile {
    char *dst, *shared;
    const char *src;
    long long src_pitch, dst_pitch;
    int height, width; // bytes of a column and of a row
};

// The words of a thread's micro-tiles as in memory. `after`: each lane has the word that follows the warp's last, of another row.
struct words {
    word own[MICRO_TILES][E], after[(LOADS + WARP - 1) / WARP];
};

#if defined __HOSTCUDA__
static __device__ word load_word(const char *p) {
    return *(const word *)p;
}
template <int BYTES> static __device__ void store_words(char *p, const word *w) {
    store_if<BYTES>(true, (elem *)p, w);
}
#else
// Not `fetch` and `store_if`: with these the compiler makes longer code.
static __device__ word load_word(const char *p) {
    word w;
    asm volatile("ld.global.L2::128B.b32 %0, [%1];" : "=r"(w) : "l"(p));
    return w;
}
// The compiler does not know that memory changes: reads of shared memory do not wait for the store.
template <int BYTES> static __device__ void store_words(char *p, const word *w) {
    if (BYTES == WORD)
        asm volatile("st.global.b32 [%0], %1;" ::"l"(p), "r"(w[0]));
    else
        asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(w[0]), "r"(w[BYTES / WORD / 4]),
                     "r"(w[BYTES / WORD / 2]), "r"(w[BYTES / WORD - 1]));
}
#endif

// If the tile is not INSIDE, rows that it does not have are left out, and the first `before` ones.
template <bool INSIDE> static __device__ void read(words &in, const tile &t, int before) {
    const int above = threadIdx.x / ACROSS * E, lane = threadIdx.x % WARP, at = threadIdx.x % ACROSS * WORD;
    const int left = t.height / ELEM_SIZE - above;
    const char *src = t.src + above * t.src_pitch + at, *p[E];
    bool there[E];
#pragma unroll
    for (int r = 0; r < E; r++) {
        p[r] = src + r * t.src_pitch;
        there[r] = at - past(p[r], WORD) < t.width;
        p[r] -= past(p[r], WORD);
    }
#pragma unroll
    for (int n = 0; n < MICRO_TILES; n++)
#pragma unroll
        for (int r = 0; r < E; r++) {
            in.own[n][r] = 0;
            if (INSIDE || (there[r] && n * ABOVE * E + r < left && (n > 0 || above + r >= before)))
                in.own[n][r] = load_word(p[r]);
            p[r] += ABOVE * E * t.src_pitch;
            OPAQUE(p[r]);
        }
#if E > 1
    const int after = (WARP - lane) * WORD;
#pragma unroll
    for (int k = 0; k < LOADS; k += WARP) {
        const int row = (k + lane) / E * ABOVE * E + lane % E;
        const char *q = src + row * t.src_pitch + after;
        const int skip = past(q, WORD);
        in.after[k / WARP] = 0;
        if (skip && k + lane < LOADS && (INSIDE || (row < left && at + after - skip < t.width)))
            in.after[k / WARP] = load_word(q - skip);
    }
#endif
}

static __device__ void turn(word *out, const word *in) {
#if ELEM_SIZE == 1
    const word a = __byte_perm(in[0], in[1], 0x5140), b = __byte_perm(in[2], in[3], 0x5140);
    const word c = __byte_perm(in[0], in[1], 0x7362), d = __byte_perm(in[2], in[3], 0x7362);
    out[0] = __byte_perm(a, b, 0x5410);
    out[1] = __byte_perm(a, b, 0x7632);
    out[2] = __byte_perm(c, d, 0x5410);
    out[3] = __byte_perm(c, d, 0x7632);
#elif ELEM_SIZE == 2
    out[0] = __byte_perm(in[0], in[1], 0x5410);
    out[1] = __byte_perm(in[0], in[1], 0x7632);
#else
    out[0] = in[0];
#endif
}

// Where a column stands in shared memory: those that a warp fills together lie side by side.
static __device__ int place(int c) {
    return (c % E * ACROSS + c / E) * PITCH;
}

template <bool SHIFT> static __device__ void put(const words &in, const tile &t) {
    char *to = t.shared + threadIdx.x % ACROSS * PITCH + threadIdx.x / ACROSS * WORD;
#pragma unroll
    for (int n = 0; n < MICRO_TILES; n++) {
        word joined[E], out[E];
#pragma unroll
        for (int r = 0; r < E; r++) {
            joined[r] = in.own[n][r];
            if (SHIFT) {
                const word next = __shfl_down_sync(~0u, in.own[n][r], 1);
                const word after = __shfl_sync(~0u, in.after[(n * E + r) / WARP], (n * E + r) % WARP);
                const int skip = past(t.src + r * t.src_pitch, WORD); // the same in all micro-tiles
                joined[r] = __funnelshift_r(joined[r], threadIdx.x % WARP == WARP - 1 ? after : next, skip * 8);
            }
        }
        turn(out, joined);
#pragma unroll
        for (int c = 0; c < E; c++)
            *(word *)(to + c * ACROSS * PITCH + n * ABOVE * WORD) = out[c];
    }
}

// Of a word at `at` of a row what lies from its beginning to `end`.
static __device__ void store_partial(char *row, int at, int end, word w) {
#pragma unroll
    for (int b = 0; b < WORD; b += ELEM_SIZE)
        if (at + b >= 0 && at + b < end)
            *(elem *)(row + at + b) = (elem)(w >> b * 8);
}

// The word that begins so many bytes after `low`. `low` is moved already, except by the remainder.
static __device__ word word_at(const char *low, int bytes) {
    if (E == 1)
        return *(const word *)low;
    return __funnelshift_r(*(const word *)low, *(const word *)(low + WORD), bytes % WORD * 8);
}

template <bool WHOLE> static __device__ void write(const tile &t) {
    constexpr int bytes = WHOLE ? VS : WORD, down = WRITE_RUN / bytes; // threads a destination row
    constexpr int abreast = THREADS / down;                            // rows at once
    constexpr int once = WHOLE ? TILE_COLS / abreast : 4;              // a longer edge would not be faster
    const int u = threadIdx.x % down * bytes, nth = threadIdx.x / down;
    // Chunks: a warp's rows are E apart, which stand side by side in shared memory.
    const int first = bytes == WORD ? nth : nth * E % abreast + nth * E / abreast;
    const int cols = t.width / ELEM_SIZE - first;
    const char *from = t.shared + place(first) + u;
    // Rounded down to a sector, this is where the thread's own sector begins.
    char *row = t.dst + first * t.dst_pitch + SECTOR - 1 + u / SECTOR * SECTOR;
    const int same = SECTOR - 1 - past(row, SECTOR); // where rows that are E apart begin alike within a word
#pragma unroll once
    for (int c = 0; c < TILE_COLS; c += abreast) {
        const int skip = SECTOR - 1 - past(row, SECTOR);
        const int column = abreast % E ? place(c + first) - place(first) : place(c);
        const char *low = from + column + skip / WORD * WORD;
        word w[bytes / WORD];
#pragma unroll
        for (int k = 0; k < bytes / WORD; k++)
            w[k] = word_at(low + k * WORD, abreast % E ? skip : same);
        if (WHOLE || (c < cols && skip + u + WORD <= t.height))
            store_words<bytes>((char *)((unsigned long long)row / SECTOR * SECTOR | u % SECTOR), w);
        else if (c < cols)
            store_partial(row - (SECTOR - 1) - u / SECTOR * SECTOR, skip + u, t.height, w[0]);
        row += abreast * t.dst_pitch;
        OPAQUE(row);
    }
}

// The bytes before the first sector of each destination row. Only the first tiles of a matrix have them.
static __device__ void write_head(const tile &t) {
    const int u = threadIdx.x % (SECTOR / WORD) * WORD - SECTOR;
#pragma unroll 4
    for (int c = threadIdx.x / (SECTOR / WORD); c < t.width / ELEM_SIZE; c += THREADS / (SECTOR / WORD)) {
        char *row = t.dst + c * t.dst_pitch;
        const int at = SECTOR - 1 - past(row + SECTOR - 1, SECTOR) + u; // of a word that may begin above the tile
        const word *low = (const word *)(t.shared + place(c) + (at & -WORD));
        if (at > -WORD)
            store_partial(row, at, min(at - u, t.height), __funnelshift_r(at < 0 ? 0 : low[0], low[1], (at & WORD - 1) * 8));
    }
}

static __device__ void put_tile(const words &in, const tile &t) {
    if (E > 1 && (past(t.src, WORD) || t.src_pitch % WORD))
        put<true>(in, t);
    else
        put<false>(in, t);
}

// So many rows, at most, have words that reach out of the matrix at its beginning, and as many at its end. They are copied an
// element at a time: a path of their own for words would be long, and for one block alone.
static __device__ int most_reaching(long long pitch, int rows) {
    return min(rows, pitch < WORD - ELEM_SIZE ? WORD - ELEM_SIZE : 1);
}

static __device__ void copy_rows(elem *dst, const elem *src, long long lds, long long ldd, int rows, int width) {
#pragma unroll 1
    for (int r = 0; r < rows; r++)
#pragma unroll 1
        for (int c = threadIdx.x; c < width; c += THREADS)
            dst[c * ldd + r] = src[r * lds + c];
}

static __device__ int at_most(long long left, int tile) {
    return (int)min(left, (long long)(tile + WORD));
}

// Is the tile whole, and does no word of it reach out of the matrix? `down` and `right` are at_most() of the rows and columns
// from the tile's first element on. `first`: the matrix begins with the tile.
static __device__ bool is_inside(const tile &t, int down, int right, bool first) {
    const bool amid = !(first && past(t.src, WORD)) && (down >= READ_ROWS + WORD || right >= TILE_COLS + WORD);
    return down >= READ_ROWS && right >= TILE_COLS && (E == 1 || amid);
}

// Leaves out rows if their words would reach out of the matrix. Returns their number at its end: the tile is so much lower.
static __device__ int read_edge(words &in, tile &t, const elem *src, long long rows, long long cols, bool first) {
    OPAQUE(rows); // otherwise the rest is computed for all tiles
    int before = 0, behind = 0;
    if (E > 1) {
        const int height = t.height / ELEM_SIZE;
        const char *end = t.src + (height - 1) * t.src_pitch + t.width;
        if (end + (WORD - past(end, WORD)) % WORD > (const char *)(src + cols) + (rows - 1) * t.src_pitch)
            behind = most_reaching(t.src_pitch, height);
        if (first && past(t.src, WORD))
            before = most_reaching(t.src_pitch, height);
        t.height -= behind * ELEM_SIZE;
    }
    read<false>(in, t, before);
    return behind;
}

static __device__ int read_tile(words &in, tile &t, const elem *src, long long rows, long long cols, int down, int right,
                                bool first) {
    t.height = min(down, READ_ROWS) * ELEM_SIZE;
    t.width = min(right, TILE_COLS) * ELEM_SIZE;
    if (OWN || !is_inside(t, down, right, first)) // with a path of their own they do not come here
        return read_edge(in, t, src, rows, cols, first);
    read<true>(in, t, 0);
    return 0;
}

static __device__ void write_tile(const tile &t, bool first) {
    if (t.height == READ_ROWS * ELEM_SIZE && t.width == READ_RUN)
        write<true>(t);
    else
        write<false>(t);
    if (first)
        write_head(t);
}

#if STAY
// All tiles of a block, which lie above each other, from the lowest up.
static __device__ void take_tiles(elem *dst, const elem *src, long long rows, long long cols, long long lds, long long ldd,
                                  char *shared) {
    const int col0 = (gridDim.x - 1 - blockIdx.x) * TILE_COLS, up = gridDim.y * TILE_ROWS;
    const int lowest = ((unsigned)(rows - 1) / TILE_ROWS - blockIdx.y) * TILE_ROWS;
    tile t, next;
    words in;
    t.shared = shared;
    t.src_pitch = lds * ELEM_SIZE;
    t.dst_pitch = ldd * ELEM_SIZE;
    next = t;
    next.src = (const char *)(src + lowest * lds + col0);
    next.dst = (char *)(dst + col0 * ldd + lowest);
    int row0 = lowest;
    wait_for_earlier();
    // read_tile() leaves out at most the last row. The block with the fewest tiles copies it for all.
    if (blockIdx.y + 1 == gridDim.y && cols - col0 < TILE_COLS + WORD)
        copy_rows(dst + col0 * ldd + rows - 1, src + (rows - 1) * lds + col0, lds, ldd, 1, min((int)cols - col0, TILE_COLS));
    for (;; row0 -= up) {
        if (row0 >= 0)
            read_tile(in, next, src, rows, cols, (int)rows - row0, (int)cols - col0, (row0 | col0) == 0);
        if (row0 != lowest)
            write_tile(t, row0 + up == 0);
        if (row0 < 0)
            break;
        if (row0 != lowest)
            __syncthreads();
        put_tile(in, next);
        __syncthreads();
        t = next;
        next.src -= up * t.src_pitch;
        next.dst -= up * ELEM_SIZE;
    }
    if (row0 + up + col0 == 0 && past((const char *)src, WORD)) {
        __syncthreads();
        copy_rows(dst, src, lds, ldd, 1, min((int)cols, TILE_COLS));
    }
}
#endif

#if OWN
static __device__ void take_inside(tile &t, bool first) {
    words in;
    t.height = READ_ROWS * ELEM_SIZE;
    t.width = READ_RUN;
    read<true>(in, t, 0);
    put_tile(in, t);
    __syncthreads();
    write<true>(t);
    if (first)
        write_head(t);
}
#endif

#if CLUSTER > 1
#define TOGETHER __cluster_dims__(1, CLUSTER, 1)
#else
#define TOGETHER
#endif

// Few registers where few suffice, so that an SM holds 1,536 threads.
#define AT_ONCE (STAY ? STAY : (LOADS <= 20 ? 1536 : 1024) / THREADS)

extern "C" __global__ void TOGETHER __launch_bounds__(THREADS, AT_ONCE)
    transpose_shifted(elem *dst, const elem *src, long long rows, long long cols, long long lds, long long ldd,
                      long long src_stride, long long dst_stride, int order) {
    extern __shared__ word shared[];

    // From the end: tiles on an edge take longer, and begin first.
#if STAY
    take_tiles(dst, src, rows, cols, lds, ldd, (char *)shared);
#else
    const unsigned x = gridDim.x - 1 - blockIdx.x, y = gridDim.y - 1 - blockIdx.y;
    const long long col0 = (long long)(order == 0 ? x : y) * TILE_COLS;
    const long long row0 = (long long)(order == 0 ? y : x) * TILE_ROWS;
    if (CLUSTER > 1 && col0 >= cols)
        return;
    dst += blockIdx.z * dst_stride;
    src += blockIdx.z * src_stride;
    tile t;
    t.dst = (char *)(dst + col0 * ldd + row0);
    t.src = (const char *)(src + row0 * lds + col0);
    t.shared = (char *)shared;
    t.src_pitch = lds * ELEM_SIZE;
    t.dst_pitch = ldd * ELEM_SIZE;
    wait_for_earlier();
    const int down = at_most(rows - row0, READ_ROWS), right = at_most(cols - col0, TILE_COLS);
    const bool first = (x | y) == 0;
#if OWN
    if (is_inside(t, down, right, first)) {
        take_inside(t, row0 == 0);
        return;
    }
#endif
    words in;
    const int behind = read_tile(in, t, src, rows, cols, down, right, first);
    if (behind)
        copy_rows((elem *)(t.dst + t.height), (const elem *)(t.src + t.height / ELEM_SIZE * t.src_pitch), lds, ldd, behind,
                  t.width / ELEM_SIZE);
    put_tile(in, t);
    __syncthreads();
    write_tile(t, row0 == 0);
    if (E > 1 && first && past((const char *)src, WORD)) {
        __syncthreads();
        copy_rows(dst, src, lds, ldd, most_reaching(t.src_pitch, t.height / ELEM_SIZE), t.width / ELEM_SIZE);
    }
#endif
}
