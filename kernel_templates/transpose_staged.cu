// For bytes in rows that are not aligned to 16 bytes, of matrices so small that most tiles are at work at once. What
// comes from memory waits in no register, so an SM holds 2,048 threads, where it holds 1,536 of transpose_shifted.
//
// A tile is copied to shared memory as it lies, in aligned chunks of 16 bytes. In each row they begin with
// the sector of its first byte, so that no two requests ask for parts of one sector. From there a thread
// takes micro-tiles of 4 x 4 bytes: the bytes of a row lie in two aligned words, which a funnel shift joins.
// Turned, they take the place of what the tile was, column by column, once all threads have theirs in
// registers.
//
// Each run that is written starts at the row's first multiple of 32 bytes in the tile, as in
// transpose_shifted, so that no sector is written by two blocks: a tile is read 32 bytes further down than
// its neighbour begins.
//
//@ kernel   transpose_staged
//@ op       transpose
//@ param    READ_RUN   128 256
//@ param    WRITE_RUN  128 256
//@ param    THREADS    256 512
//@ runtime  ORDER      0 1
//@ where    elem_size = 1 AND align <= 8
//@ where    READ_RUN * WRITE_RUN / THREADS = 64
//@ where    batch <= 65535
//@ launch   early
//@ block    THREADS
//@ grid     iif(ORDER = 0, ceil_div(cols, READ_RUN), ceil_div(rows, WRITE_RUN)), iif(ORDER = 0, ceil_div(rows, WRITE_RUN), ceil_div(cols, READ_RUN)), batch
//@ shared   max((WRITE_RUN + 32) * (READ_RUN + 32), READ_RUN * (WRITE_RUN + 36))
//@ args     dst, src, i64 rows, i64 cols, i64 lds, i64 ldd, i64 src_stride, i64 dst_stride, i32 ORDER
//@ default  READ_RUN=128 WRITE_RUN=128 THREADS=256 ORDER=0

#include "early.cuh"

typedef unsigned char elem;
typedef unsigned int word;

#define CHUNK     16
#define WORD      4 // bytes; so many rows and columns of a micro-tile
#define SECTOR    32
#define READ_ROWS (WRITE_RUN + SECTOR)

// Reading: CHUNKS threads a row.
#define READ_PITCH (READ_RUN + SECTOR) // of a row in shared memory
#define CHUNKS     (READ_PITCH / CHUNK)
#define READ_STEP  (THREADS / CHUNKS)

// Turning: micro-tiles side by side, and so many of them above each other at once. ABOVE is a multiple of 8,
// so that all micro-tiles of a thread lie in their sectors alike, whatever the pitch.
#define ACROSS      (READ_RUN / WORD)
#define ABOVE       (THREADS / ACROSS)
#define MICRO_ROWS  (READ_ROWS / WORD)
#define MICRO_TILES ((MICRO_ROWS + ABOVE - 1) / ABOVE)

#define WRITE_PITCH (WRITE_RUN + SECTOR + WORD) // of a column in shared memory; an odd number of words

// What moves one tile: the addresses of its first elements, its pitches, what there is of it.
struct tile {
    char *dst, *shared;
    const char *src;
    long long src_pitch, dst_pitch;
    int height, width;
    const char *src_begin, *src_end; // of the matrix
};

// From global memory to shared memory, 16 bytes, without a register and without waiting; the rest of the
// cache line comes as far as L2. The CPU stand-in of the tests speaks no PTX.
#if __CUDA_ARCH__ >= 800 && !defined __HOSTCUDA__
static __device__ void copy_chunk(char *to, const char *from) {
    const unsigned int address = (unsigned int)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
}
static __device__ void wait_for_chunks() {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
}
#else
static __device__ void copy_chunk(char *to, const char *from) {
    *(uint4 *)to = *(const uint4 *)from;
}
static __device__ void wait_for_chunks() {
    __syncthreads();
}
#endif

#if defined __HOSTCUDA__
static __device__ void store_word(char *p, word w) {
    *(word *)p = w;
}
#define KEEP(pointer)
#else
// What is read from shared memory next does not wait for it, which the compiler could not know.
static __device__ void store_word(char *p, word w) {
    asm volatile("st.global.b32 [%0], %1;" ::"l"(p), "r"(w));
}
// Or else the compiler makes each address anew, with multiplications.
#define KEEP(pointer) asm volatile("" : "+l"(pointer))
#endif

// Bytes from a multiple of so many to `p`.
static __device__ int past(const char *p, int multiple) {
    return (int)((unsigned long long)p % multiple);
}

// INSIDE: all rows are there, and no chunk reaches out of the matrix. On the right a chunk may reach into the
// next row.
template <bool INSIDE> static __device__ void read(const tile &t) {
    const int r = threadIdx.x / CHUNKS, at = threadIdx.x % CHUNKS * CHUNK;
    const char *row = t.src + r * t.src_pitch;
    char *to = t.shared + r * READ_PITCH + at;
    if (r == READ_STEP)
        return;
#pragma unroll(INSIDE ? READ_ROWS / READ_STEP + 1 : 1)
    for (int k = 0; k < READ_ROWS; k += READ_STEP) {
        const bool there = INSIDE ? k + READ_STEP <= READ_ROWS || k + r < READ_ROWS : k + r < t.height;
        const int begin = past(row, SECTOR);
        const char *from = row - begin + at;
        if (there && at < begin + READ_RUN) {
            if (INSIDE || (from >= t.src_begin && from + CHUNK <= t.src_end))
                copy_chunk(to + k * READ_PITCH, from);
            else
#pragma unroll 1
                for (int b = 0; b < CHUNK; b++)
                    if (from + b >= t.src_begin && from + b < t.src_end)
                        to[k * READ_PITCH + b] = from[b];
        }
        row += READ_STEP * t.src_pitch;
        KEEP(row);
    }
}

static __device__ void turn_micro_tile(word *out, const word *in) {
    const word a = __byte_perm(in[0], in[1], 0x5140), b = __byte_perm(in[2], in[3], 0x5140);
    const word c = __byte_perm(in[0], in[1], 0x7362), d = __byte_perm(in[2], in[3], 0x7362);
    out[0] = __byte_perm(a, b, 0x5410);
    out[1] = __byte_perm(a, b, 0x7632);
    out[2] = __byte_perm(c, d, 0x5410);
    out[3] = __byte_perm(c, d, 0x7632);
}

// The word that begins so many bytes after `low`, of which only the remainder is left to move by.
static __device__ word word_at(const char *low, int bytes) {
    return __funnelshift_r(*(const word *)low, *(const word *)(low + WORD), bytes % WORD * 8);
}

// Where a column stands in shared memory: those that a warp fills together lie side by side.
static __device__ int place(int c) {
    return (c % WORD * ACROSS + c / WORD) * WRITE_PITCH;
}

static __device__ bool has_micro_tile(int n, int above) {
    return (n + 1) * ABOVE <= MICRO_ROWS || n * ABOVE + above < MICRO_ROWS;
}

static __device__ void turn(const tile &t) {
    const int across = threadIdx.x % ACROSS, above = threadIdx.x / ACROSS;
    const char *from[WORD];
    int begin[WORD];
    word out[MICRO_TILES][WORD];
#pragma unroll
    for (int r = 0; r < WORD; r++) {
        begin[r] = past(t.src + (above * WORD + r) * t.src_pitch, SECTOR);
        from[r] = t.shared + (above * WORD + r) * READ_PITCH + across * WORD + begin[r] / WORD * WORD;
    }
#pragma unroll
    for (int n = 0; n < MICRO_TILES; n++)
        if (has_micro_tile(n, above)) {
            word in[WORD];
#pragma unroll
            for (int r = 0; r < WORD; r++)
                in[r] = word_at(from[r] + n * ABOVE * WORD * READ_PITCH, begin[r]);
            turn_micro_tile(out[n], in);
        }
    __syncthreads();
    char *to = t.shared + across * WRITE_PITCH + above * WORD;
#pragma unroll
    for (int n = 0; n < MICRO_TILES; n++)
        if (has_micro_tile(n, above))
#pragma unroll
            for (int c = 0; c < WORD; c++)
                *(word *)(to + c * ACROSS * WRITE_PITCH + n * ABOVE * WORD) = out[n][c];
    __syncthreads();
}

// Of a word at `at` of a row what lies from its beginning to `end`.
static __device__ void store_partial(char *row, int at, int end, word w) {
#pragma unroll
    for (int b = 0; b < WORD; b++)
        if (at + b >= 0 && at + b < end)
            row[at + b] = (char)(w >> b * 8);
}

static __device__ void write_whole(const tile &t) {
    constexpr int down = WRITE_RUN / WORD, abreast = THREADS / down; // threads a row, and rows at once
    const int u = threadIdx.x % down * WORD, first = threadIdx.x / down;
    const char *from = t.shared + place(first) + u;
    // Rounded down to a sector, this is where the thread's own sector begins.
    char *row = t.dst + first * t.dst_pitch + SECTOR - 1 + u / SECTOR * SECTOR;
    const int same = SECTOR - 1 - past(row, SECTOR); // rows that are four apart begin alike within a word
#pragma unroll
    for (int c = 0; c < READ_RUN; c += abreast) {
        const int skip = SECTOR - 1 - past(row, SECTOR);
        const word w = word_at(from + place(c) + skip / WORD * WORD, same);
        store_word((char *)((unsigned long long)row / SECTOR * SECTOR | u % SECTOR), w);
        row += abreast * t.dst_pitch;
        KEEP(row);
    }
}

// Of each row, as far as it is there, the RUN bytes that begin FROM bytes after its first sector.
template <int FROM, int RUN> static __device__ void write_part(const tile &t) {
    constexpr int down = RUN / WORD, abreast = THREADS / down;
    const int u = threadIdx.x % down * WORD + FROM;
#pragma unroll 4
    for (int c = threadIdx.x / down; c < t.width; c += abreast) {
        char *row = t.dst + c * t.dst_pitch;
        const int at =
            SECTOR - 1 - past(row + SECTOR - 1, SECTOR) + u; // of a word that may begin above the tile
        const word *low = (const word *)(t.shared + place(c) + (at & -WORD));
        if (at <= -WORD || at >= t.height)
            continue;
        const word w = __funnelshift_r(at < 0 ? 0 : low[0], low[1], (at & WORD - 1) * 8);
        if (at >= 0 && at + WORD <= t.height)
            store_word(row + at, w);
        else
            store_partial(row, at, t.height, w);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2048 / THREADS)
    transpose_staged(elem *dst, const elem *src, long long rows, long long cols,
                     long long lds, long long ldd, long long src_stride, long long dst_stride, int order) {
    extern __shared__ __align__(16) uint4 shared[];

    // Blocks are numbered along the rows (ORDER 0) or down the columns (ORDER 1) of the source, from its end:
    // tiles on an edge take longer, and would hold up the end if they were begun last.
    const unsigned x = gridDim.x - 1 - blockIdx.x, y = gridDim.y - 1 - blockIdx.y;
    const long long col0 = (long long)(order == 0 ? x : y) * READ_RUN;
    const long long row0 = (long long)(order == 0 ? y : x) * WRITE_RUN;
    dst += blockIdx.z * dst_stride;
    src += blockIdx.z * src_stride;
    tile t;
    t.dst = (char *)(dst + col0 * ldd + row0);
    t.src = (const char *)(src + row0 * lds + col0);
    t.shared = (char *)shared;
    t.src_pitch = lds;
    t.dst_pitch = ldd;
    t.height = (int)min(rows - row0, (long long)READ_ROWS);
    t.width = (int)min(cols - col0, (long long)READ_RUN);
    t.src_begin = (const char *)src;
    t.src_end = (const char *)(src + (rows - 1) * lds + cols);

    wait_for_earlier();
    const char *end = t.src + (READ_ROWS - 1) * lds + READ_PITCH;
    if (t.height == READ_ROWS && t.src - past(t.src, SECTOR) >= t.src_begin && end <= t.src_end)
        read<true>(t);
    else
        read<false>(t);
    wait_for_chunks();
    turn(t);
    if (t.height == READ_ROWS && t.width == READ_RUN)
        write_whole(t);
    else
        write_part<0, WRITE_RUN>(t);
    // What lies before the first sector of the destination's rows: only the matrix's first tiles have it to
    // write.
    if (row0 == 0)
        write_part<-SECTOR, SECTOR>(t);
}
