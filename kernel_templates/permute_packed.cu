// For elements of 1 and 2 bytes whose rows are not whole words. Global memory is read and written as aligned words, which are
// shifted into place. A tile (permute_tile.cuh) consists of runs, elements that follow one another: in the source, and others
// in the destination. Shared memory holds the runs of the source, each from a word on. A thread gathers one word of a run of the
// destination from there, and the thread before it gives the bytes that share its word of memory. Where a thread reads and
// gathers is the same in every tile, so a block goes through several TILES.
//
//@ kernel    permute_packed
//@ op        permute
//@ param     READ_RUN  64 128 256 512 1024
//@ param     WRITE_RUN 64 128 256 512 1024
//@ param     THREADS   128 256
//@ param     TILES     4 8 16 32
//@ param     ORDER     0 1
//@ let       elements  permute_tile(1, READ_RUN, WRITE_RUN)
//@ where     elem_size <= 2
//@ where     min(permute_tile(2, READ_RUN, WRITE_RUN), permute_tile(3, READ_RUN, WRITE_RUN)) < 4
//@ where     elements * 4 + 24 * TILES <= 49152
//@ where     (READ_RUN = 128 AND WRITE_RUN = 256) OR elements * elem_size BETWEEN THREADS * 8 AND THREADS * 64
//@ block     THREADS
//@ grid      min(ceil_div(permute_tile(0, READ_RUN, WRITE_RUN), TILES), 2147483647)
//@ args      dst, src
//@ default   READ_RUN=128 WRITE_RUN=256 THREADS=256 TILES=8 ORDER=1

#define PAD        1
#define WIDE_LOAD  ELEM_SIZE
#define WIDE_STORE ELEM_SIZE
#include "common.cuh"
#include "permute_tile.cuh"
#include "permute.cuh"

// The runs of a tile.
struct permute_runs {
    int dims;          // in a run; its last one may be cut
    int length, count; // elements of a run, runs
    int words;         // of a run, wherever in a word it begins
};

static __device__ constexpr permute_runs permute_runs_of(permute_shape s, permute_tile t, bool of_source) {
    permute_runs r = {0, 1, 1, 0};
    long long dense = 1;
    bool whole = true;
    for (int i = 0; i < t.n; i++) {
        const int k = of_source ? t.order[i] : i;
        whole = whole && (!of_source || s.stride[k] == dense);
        if (whole) {
            r.length *= t.size[k];
            r.dims++;
        } else
            r.count *= t.size[k];
        whole = whole && t.size[k] == s.dim[k];
        dense *= s.dim[k];
    }
    r.words = (r.length * s.elem_size + (of_source ? 3 : 7 - s.elem_size)) / 4;
    return r;
}

constexpr permute_runs reads = permute_runs_of(shape, tile, true), writes = permute_runs_of(shape, tile, false);
// An odd number of words, so that runs begin in different banks.
constexpr int pitch = reads.words | 1;
// Turns of the threads for a tile.
constexpr int loads = (reads.words * reads.count + THREADS - 1) / THREADS;
constexpr int stores = (writes.words * writes.count + THREADS / 32 * 31 - 1) / (THREADS / 32 * 31);

// Bytes of shared memory from one index of dimension k to the next.
static __device__ constexpr int permute_held(int k) {
    int run = ELEM_SIZE, runs = pitch * 4;
    for (int i = 0; i < tile.n; i++) {
        const int of = tile.order[i];
        if (of == k)
            return i < reads.dims ? run : runs;
        (i < reads.dims ? run : runs) *= tile.size[of];
    }
    return 0;
}

// How many elements of the tensor follow the first one of src.
static __device__ constexpr long long permute_reach() {
    long long n = 1;
    for (int k = 0; k < tile.n; k++)
        n += (shape.dim[k] - 1) * shape.stride[k];
    return n;
}

// Where a run begins, from the first element of the tile: in the source, or in the destination. With CHECK, *in says whether
// it is in the tensor.
template <bool READ, bool CHECK, int I> static __device__ permute_distance permute_run_at(unsigned run, const permute_start &s, bool *in) {
    if constexpr (I < tile.n) {
        constexpr int k = READ ? tile.order[I] : I;
        constexpr unsigned size = tile.size[k];
        constexpr permute_distance stride = READ ? shape.stride[k] : permute_dst_stride(k);
        const int index = (int)(I == tile.n - 1 ? run : run % size);
        if (CHECK && shape.dim[k] % size != 0)
            *in = *in && index < s.left[k];
        return index * stride + permute_run_at<READ, CHECK, I + 1>(run / size, s, in);
    }
    return 0;
}

// Where an element is in shared memory, from its place in the order of the destination.
template <int I> static __device__ int permute_held_at(unsigned element) {
    if constexpr (I < tile.n) {
        constexpr unsigned size = tile.size[I];
        constexpr int held = permute_held(I);
        return (int)(I == tile.n - 1 ? element : element % size) * held + permute_held_at<I + 1>(element / size);
    }
    return 0;
}

// Elements of each run of the destination that are in the tensor.
static __device__ int permute_left(const permute_start &s) {
    constexpr int k = writes.dims - 1, inner = writes.length / tile.size[k];
    return s.left[k] < tile.size[k] ? (int)s.left[k] * inner : writes.length;
}

// Bytes of the source from the tile's first element to behind the last word that is read.
static __device__ constexpr long long permute_span() {
    long long last = 0;
    for (int i = reads.dims; i < tile.n; i++)
        last += (tile.size[tile.order[i]] - 1) * shape.stride[tile.order[i]];
    return last * ELEM_SIZE + reads.words * 4 + 4;
}

// The bytes [0, 4) at `at`, of which only those in [first, end) may be read.
static __device__ unsigned permute_word(const unsigned char *at, const unsigned char *first, const unsigned char *end) {
    unsigned word = 0;
    for (int i = 0; i < 4; i++)
        if (at + i >= first && at + i < end)
            word |= (unsigned)at[i] << 8 * i;
    return word;
}

// What a thread reads in a turn. Without work it reads the first word, to the word behind all others.
struct permute_load {
    permute_bytes from; // bytes
    int to;             // a word of shared memory
};

static __device__ permute_load permute_load_of(int turn) {
    const unsigned at = threadIdx.x + turn * THREADS, run = at / reads.words, word = at % reads.words;
    permute_start none;
    permute_load l = {0, pitch * reads.count};
    if (at < reads.words * reads.count) {
        l.from = (permute_bytes)permute_run_at<true, false, reads.dims>(run, none, nullptr) * ELEM_SIZE + (permute_bytes)word * 4;
        l.to = (int)(run * pitch + word);
    }
    return l;
}

// What a thread writes in a turn.
struct permute_store {
    permute_bytes to;                   // bytes, from the first of the tile to this word of the run
    int word;                           // of the run; -1: none
    unsigned short held[4 / ELEM_SIZE]; // bytes of shared memory
};

// A warp has 31 words. Its first thread has the word before them.
static __device__ int permute_place_in(int turn) {
    return (int)((threadIdx.x / 32 + turn * (THREADS / 32)) * 31 + threadIdx.x % 32) - 1;
}

static __device__ permute_store permute_store_of(int turn) {
    const int at = permute_place_in(turn);
    const unsigned run = (unsigned)at / writes.words, word = (unsigned)at % writes.words;
    permute_start none;
    permute_store s = {0, -1, {}};
    if (at < 0 || at >= writes.words * writes.count)
        return s;
    s.to = (permute_bytes)permute_run_at<false, false, writes.dims>(run, none, nullptr) * ELEM_SIZE + (permute_bytes)word * 4;
    s.word = threadIdx.x % 32 ? (int)word : -1;
    for (int i = 0; i < 4 / ELEM_SIZE; i++)
        if ((int)word * (4 / ELEM_SIZE) + i < writes.length)
            s.held[i] = (unsigned short)permute_held_at<0>(run * writes.length + word * (4 / ELEM_SIZE) + i);
    return s;
}

static __device__ unsigned permute_gathered(const unsigned *held, const permute_store &s) {
    unsigned word = 0;
#pragma unroll
    for (int i = 0; i < 4 / ELEM_SIZE; i++)
        word |= (unsigned)*(const elem *)((const char *)held + s.held[i]) << 8 * ELEM_SIZE * i;
    return word;
}

// Is the whole word within its run, wherever in a word that begins?
static __device__ bool permute_is_inner(const permute_store &s) {
    return s.word >= 1 && s.word <= writes.length * ELEM_SIZE / 4 - 1;
}

// Writes the part of an aligned word that belongs to a run of `left` bytes. `at` is where the word of the run is.
static __device__ void permute_put(unsigned char *at, int word, unsigned value, int left) {
    const int shift = past(at, 4), low = shift - word * 4, high = left + low;
#pragma unroll
    for (int i = 0; i < 4; i += ELEM_SIZE)
        if (i >= low && i < high)
            *(elem *)(at - shift + i) = (elem)(value >> 8 * i);
}

// Written so that the compiler still knows it for global memory.
static __device__ const unsigned *permute_aligned(const unsigned char *p) {
    return (const unsigned *)(p - ((unsigned long long)p & 3));
}

// Where a tile begins, in bytes, and whether all of it can be read and written as words.
struct permute_begin {
    long long src, dst;
    int inside, cut;
};

static __device__ permute_begin permute_begin_of(const permute_start &s) {
    const long long src = s.src * ELEM_SIZE;
    return {src, s.dst * ELEM_SIZE, src >= 3 && src + permute_span() <= permute_reach() * ELEM_SIZE, permute_is_cut<0>(s)};
}

static __device__ void permute_load_tile(unsigned *held, const unsigned char *from, const permute_load *load) {
    constexpr int batch = loads < 8 ? loads : 8;
#pragma unroll
    for (int i = 0; i < loads; i += batch) {
        unsigned low[batch], high[batch];
#pragma unroll
        for (int k = 0; k < batch && i + k < loads; k++) {
            const unsigned *p = permute_aligned(from + load[i + k].from);
            low[k] = p[0];
            high[k] = p[1];
        }
#pragma unroll
        for (int k = 0; k < batch && i + k < loads; k++) // the shift counts modulo 32
            held[load[i + k].to] = __funnelshift_r(low[k], high[k], (unsigned)(unsigned long long)(from + load[i + k].from) << 3);
    }
}

static __device__ void permute_store_tile(unsigned char *to, const unsigned *held, const permute_store *store) {
#pragma unroll
    for (int i = 0; i < stores; i++) {
        const unsigned own = permute_gathered(held, store[i]), before = __shfl_up_sync(~0u, own, 1);
        unsigned char *p = to + store[i].to;
        const unsigned value = __funnelshift_l(before, own, (unsigned)(unsigned long long)p << 3);
        if (permute_is_inner(store[i]))
            *(unsigned *)permute_aligned(p) = value;
        else if (store[i].word >= 0)
            permute_put(p, store[i].word, value, writes.length * ELEM_SIZE);
    }
}

// The same for tiles at the tensor's ends.
static __device__ void permute_load_edge(unsigned *held, const elem *src, long long from) {
    const unsigned char *first = (const unsigned char *)src;
#pragma unroll 1
    for (int i = 0; i < loads; i++) {
        const permute_load l = permute_load_of(i);
        held[l.to] = permute_word(first + from + l.from, first, first + permute_reach() * ELEM_SIZE);
    }
}

static __device__ void permute_store_edge(unsigned char *to, const unsigned *held, long long at) {
    const permute_start start = permute_start_of(at);
#pragma unroll 1
    for (int i = 0; i < stores; i++) {
        const permute_store s = permute_store_of(i);
        const unsigned own = permute_gathered(held, s), before = __shfl_up_sync(~0u, own, 1);
        bool in = s.word >= 0;
        permute_run_at<false, true, writes.dims>((unsigned)permute_place_in(i) / writes.words, start, &in);
        if (in)
            permute_put(to + s.to, s.word, __funnelshift_l(before, own, (unsigned)(unsigned long long)(to + s.to) << 3),
                        permute_left(start) * ELEM_SIZE);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) permute_packed(elem *__restrict__ dst, const elem *__restrict__ src) {
    __shared__ unsigned held[pitch * reads.count + 1];
    __shared__ permute_begin begins[TILES];
    permute_load load[loads];
    permute_store store[stores];
    if (threadIdx.x < TILES)
        begins[threadIdx.x] = permute_begin_of(permute_start_of(blockIdx.x + (long long)threadIdx.x * gridDim.x));
#pragma unroll
    for (int i = 0; i < loads; i++)
        load[i] = permute_load_of(i);
#pragma unroll
    for (int i = 0; i < stores; i++)
        store[i] = permute_store_of(i);
    __syncthreads();
    for (int i = 0; i < TILES && blockIdx.x + (long long)i * gridDim.x < tile.tiles; i++) {
        const permute_begin begin = begins[i];
        unsigned char *to = (unsigned char *)dst + begin.dst;
        if (begin.inside)
            permute_load_tile(held, (const unsigned char *)src + begin.src, load);
        else
            permute_load_edge(held, src, begin.src);
        __syncthreads();
        if (begin.cut)
            permute_store_edge(to, held, blockIdx.x + (long long)i * gridDim.x);
        else
            permute_store_tile(to, held, store);
        __syncthreads();
    }
}
