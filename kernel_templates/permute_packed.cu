// For elements of 1 and 2 bytes, wherever rows begin. Global memory is read and written as aligned words, which are shifted into
// place. A tile (permute_tile.cuh) is a matrix: its rows follow the source, and each column becomes a run of the destination.
// Shared memory holds each row from a word on. A thread takes a word of 4 rows (2 of 2 bytes), and turns them into words of as many
// columns. The thread before it gives the bytes that share a word of the destination. The elements at the ends of runs, which fill
// no word, are written one at a time. Where a thread reads and writes is the same in every tile, so a block goes through several
// TILES, and loads the next one while this one is stored.
//
//@ kernel    permute_packed
//@ op        permute
//@ param     READ_RUN  32 64 128 256
//@ param     WRITE_RUN 64 128 256 512
//@ param     THREADS   128 256 512
//@ param     TILES     4 16
//@ param     ORDER     0 1
//@ let       bytes  permute_tile(1, READ_RUN, WRITE_RUN) * elem_size
//@ let       row    permute_tile(4, READ_RUN, WRITE_RUN) * elem_size
//@ let       rows   permute_tile(5, READ_RUN, WRITE_RUN)
//@ where     elem_size <= 2 AND stride0 > 1
//@ where     row * rows = bytes AND row > elem_size
//@ where     (row + 8) * (rows + 8) <= 48128
//@ where     (READ_RUN = 64 AND WRITE_RUN = 128) OR bytes BETWEEN THREADS * 12 AND THREADS * 48
//@ block     THREADS
//@ grid      min(ceil_div(permute_tile(0, READ_RUN, WRITE_RUN), TILES), 2147483647)
//@ args      dst, src
//@ default   READ_RUN=64 WRITE_RUN=128 THREADS=256 TILES=4 ORDER=1

#define PAD        1
#define WIDE_LOAD  ELEM_SIZE
#define WIDE_STORE ELEM_SIZE
#include "common.cuh"
#include "permute_tile.cuh"
#include "permute.cuh"
#include "permute_words.cuh"

// Rows 0, part, 2 part ... make a plane of shared memory, those behind them the next. With an odd pitch, words of a column are in
// different banks.
constexpr int pitch = row_words | 1, plane = run_words * pitch;
constexpr int warps = THREADS / 32;
// Turns of the threads for a tile. A warp stores 31 words, and has the one before them.
constexpr int loads = (row_words * height + THREADS - 1) / THREADS, stores = (run_words * row_words + warps * 31 - 1) / (warps * 31);

// ---- Reading ----

// What a thread reads in a turn. Without work it reads the first word, to the word behind all others.
struct permute_load {
    permute_bytes from; // bytes from the tile's first element
    int to;             // a word of shared memory
    unsigned low, high; // the words that have it
};

static __device__ permute_load permute_load_of(int turn) {
    const unsigned at = threadIdx.x + turn * THREADS, row = at / row_words, word = at % row_words;
    if (at >= row_words * height)
        return {0, plane * part, 0, 0};
    return {(permute_bytes)permute_distance_of<true, 0>(row) * ELEM_SIZE + (permute_bytes)word * 4,
            (int)(row % part * plane + row / part * pitch + word), 0, 0};
}

// Written so that the compiler still knows it for global memory.
static __device__ const unsigned *permute_aligned(const unsigned char *p) {
    return (const unsigned *)(p - ((unsigned long long)p & 3));
}

static __device__ void permute_fetch(permute_load *load, const unsigned char *from) {
#pragma unroll
    for (int i = 0; i < loads; i++) {
        const unsigned *p = permute_aligned(from + load[i].from);
        load[i].low = p[0];
        load[i].high = p[1];
    }
}

static __device__ void permute_keep(unsigned *held, const permute_load *load, const unsigned char *from) {
#pragma unroll
    for (int i = 0; i < loads; i++) // the shift counts modulo 32
        held[load[i].to] = __funnelshift_r(load[i].low, load[i].high, (unsigned)(unsigned long long)(from + load[i].from) << 3);
}

// The same at the tensor's ends.
static __device__ void permute_keep_edge(unsigned *held, const unsigned char *src, long long begin) {
#pragma unroll 1
    for (int i = 0; i < loads; i++) {
        const permute_load l = permute_load_of(i);
        held[l.to] = permute_edge_word(src + begin + l.from, src);
    }
}

// ---- Writing ----

// What a thread writes in a turn: a word of as many runs as a word has elements.
struct permute_store {
    int held, column;       // a word of shared memory, the first run
    int at;                 // bytes from the beginning of the run; far below 0: none
    permute_bytes to[part]; // bytes from the tile's first to this word of a run
};

static __device__ permute_store permute_store_of(int turn) {
    const int at = (int)((threadIdx.x / 32 + turn * warps) * 31 + threadIdx.x % 32) - 1;
    const unsigned column = (unsigned)at / run_words, word = (unsigned)at % run_words;
    permute_store s = {0, 0, -1000000, {}};
    if (at < 0 || at >= run_words * row_words)
        return s;
    s.held = (int)(column + word * pitch);
    s.column = (int)column * part;
    if (threadIdx.x % 32)
        s.at = (int)word * 4;
    for (int i = 0; i < part; i++)
        s.to[i] = (permute_bytes)permute_distance_of<false, 0>(s.column + i) * ELEM_SIZE + (permute_bytes)word * 4;
    return s;
}

// Words that runs fill.
static __device__ void permute_store_words(unsigned char *to, const unsigned *held, const permute_store *store, int columns, int rows) {
#pragma unroll
    for (int k = 0; k < stores; k++) {
        unsigned w[4];
#pragma unroll
        for (int i = 0; i < part; i++)
            w[i] = held[store[k].held + i * plane];
#pragma unroll
        for (int i = 0; i < part; i++) {
            const unsigned own = permute_turned(w, i), before = __shfl_up_sync(~0u, own, 1);
            unsigned char *p = to + store[k].to[i];
            const int at = store[k].at - past(p, 4);
            if (at >= 0 && at <= rows * ELEM_SIZE - 4 && store[k].column + i < columns)
                *(unsigned *)permute_aligned(p) = __funnelshift_l(before, own, (unsigned)(unsigned long long)p << 3);
        }
    }
}

// The elements before and behind them.
static __device__ void permute_store_ends(unsigned char *to, const unsigned *held, int columns, int rows) {
    for (int u = threadIdx.x; u < 2 * columns; u += THREADS) {
        const int column = u / 2, last = u % 2;
        elem *p = (elem *)(to + (permute_bytes)permute_distance_of<false, 0>(column) * ELEM_SIZE);
        const int first = past(p, 4) / ELEM_SIZE, n = last ? (first + rows) % part : (part - first) % part;
#pragma unroll
        for (int i = 0; i < part - 1; i++)
            if (i < n && i < rows) {
                const int row = last ? rows - 1 - i : i;
                p[row] = ((const elem *)held)[(row % part * plane + row / part * pitch) * part + column];
            }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) permute_packed(elem *__restrict__ dst, const elem *__restrict__ src) {
    __shared__ unsigned held[plane * part + 1];
    __shared__ permute_begin begins[TILES];
    const unsigned char *from = (const unsigned char *)src;
    permute_load load[loads];
    permute_store store[stores];
    if (threadIdx.x < TILES)
        begins[threadIdx.x] = permute_begin_of<row_words + 1>(blockIdx.x + (long long)threadIdx.x * gridDim.x);
#pragma unroll
    for (int i = 0; i < loads; i++)
        load[i] = permute_load_of(i);
#pragma unroll
    for (int i = 0; i < stores; i++)
        store[i] = permute_store_of(i);
    __syncthreads();
    if (begins[0].inside)
        permute_fetch(load, from + begins[0].src);
    const int tiles = (int)min((long long)TILES, (tile.tiles - blockIdx.x + gridDim.x - 1) / gridDim.x);
    for (int i = 0; i < tiles; i++) {
        const permute_begin b = begins[i];
        unsigned char *to = (unsigned char *)dst + b.dst;
        if (b.inside)
            permute_keep(held, load, from + b.src);
        else
            permute_keep_edge(held, from, b.src);
        __syncthreads();
        if (i + 1 < tiles && begins[i + 1].inside)
            permute_fetch(load, from + begins[i + 1].src);
        permute_store_words(to, held, store, b.width, b.height);
        permute_store_ends(to, held, b.width, b.height);
        __syncthreads();
    }
}
