// For elements of 1 and 2 bytes whose rows are not whole words. Global memory is read and written as aligned words, which are
// shifted into place. A tile (permute_tile.cuh) consists of runs, elements that follow one another: in the source, and others
// in the destination. Shared memory holds the runs of the source, each from a word on. A thread gathers one word of a run of the
// destination from there, and the thread before it gives the bytes that share its word of memory. Where a thread reads and
// gathers is the same in every tile, so a block goes through several TILES.
//
//@ kernel    permute_packed
//@ op        permute
//@ param     READ_RUN  64 128 256 512
//@ param     WRITE_RUN 64 128 256 512 1024
//@ param     THREADS   128 256 512
//@ param     TILES     4 8 16
//@ param     ORDER     0 1
//@ let       elements  permute_tile(1, READ_RUN, WRITE_RUN)
//@ where     elem_size <= 2
//@ where     stride0 > 1 OR dim0 * elem_size < 128
//@ where     min(permute_tile(2, READ_RUN, WRITE_RUN), permute_tile(3, READ_RUN, WRITE_RUN)) < 4
//@ where     elements * 4 <= 49152
//@ where     (READ_RUN = 128 AND WRITE_RUN = 256) OR elements * elem_size BETWEEN THREADS * 4 AND THREADS * 32
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

// Does the tile reach beyond the tensor in a dimension that numbers its runs?
template <int I> static __device__ bool permute_is_cut(const permute_start &s) {
    if constexpr (I < tile.n)
        return (shape.dim[I] % tile.size[I] != 0 && s.left[I] < tile.size[I]) || permute_is_cut<I + 1>(s);
    return false;
}

// An aligned word of which only the bytes in [first, end) may be read.
static __device__ unsigned permute_word(const unsigned char *at, const unsigned char *first, const unsigned char *end) {
    if (at >= first && at + 4 <= end)
        return *(const unsigned *)at;
    unsigned word = 0;
    for (int i = 0; i < 4; i++)
        if (at + i >= first && at + i < end)
            word |= (unsigned)at[i] << 8 * i;
    return word;
}

// What a thread reads in a turn, and what it writes.
struct permute_load {
    permute_distance from; // bytes
    int to;                // a word of shared memory, or -1
};
struct permute_store {
    permute_distance to;                // elements, to the first of the run
    int word;                           // of the run, or -1
    unsigned short held[4 / ELEM_SIZE]; // bytes
};

static __device__ permute_load permute_load_of(int turn) {
    const unsigned at = threadIdx.x + turn * THREADS, run = at / reads.words, word = at % reads.words;
    permute_start none;
    permute_load l = {0, -1};
    if (at < reads.words * reads.count) {
        l.from = permute_run_at<true, false, reads.dims>(run, none, nullptr) * ELEM_SIZE + (permute_distance)word * 4;
        l.to = (int)(run * pitch + word);
    }
    return l;
}

// A warp has 31 words. Its first thread has the word before them.
static __device__ permute_store permute_store_of(int turn) {
    const int at = (int)((threadIdx.x / 32 + turn * (THREADS / 32)) * 31 + threadIdx.x % 32) - 1;
    const unsigned run = (unsigned)at / writes.words, word = (unsigned)at % writes.words;
    permute_start none;
    permute_store s = {0, -1, {}};
    if (at >= 0 && at < writes.words * writes.count) {
        s.to = permute_run_at<false, false, writes.dims>(run, none, nullptr);
        s.word = (int)word;
        for (int i = 0; i < 4 / ELEM_SIZE; i++)
            if ((int)word * (4 / ELEM_SIZE) + i < writes.length)
                s.held[i] = (unsigned short)permute_held_at<0>(run * writes.length + word * (4 / ELEM_SIZE) + i);
    }
    return s;
}

static __device__ bool permute_store_is_in(int turn, const permute_start &s) {
    const int at = (int)((threadIdx.x / 32 + turn * (THREADS / 32)) * 31 + threadIdx.x % 32) - 1;
    bool in = true;
    permute_run_at<false, true, writes.dims>((unsigned)at / writes.words, s, &in);
    return in;
}

// Writes the bytes [low, high) of an aligned word.
static __device__ void permute_put(unsigned char *at, unsigned word, int low, int high) {
    if (low <= 0 && high >= 4)
        *(unsigned *)at = word;
    else
#pragma unroll
        for (int i = 0; i < 4; i += ELEM_SIZE)
            if (i >= low && i < high)
                *(elem *)(at + i) = (elem)(word >> 8 * i);
}

extern "C" __global__ void __launch_bounds__(THREADS) permute_packed(elem *__restrict__ dst, const elem *__restrict__ src) {
    constexpr int loads = (reads.words * reads.count + THREADS - 1) / THREADS;
    constexpr int stores = (writes.words * writes.count + THREADS / 32 * 31 - 1) / (THREADS / 32 * 31);
    constexpr int batch = loads < 8 ? loads : 8;
    __shared__ unsigned held[pitch * reads.count];
    const unsigned char *bytes = (const unsigned char *)held, *end = (const unsigned char *)(src + permute_reach());
    permute_load load[loads];
    permute_store store[stores];
#pragma unroll
    for (int i = 0; i < loads; i++)
        load[i] = permute_load_of(i);
#pragma unroll
    for (int i = 0; i < stores; i++)
        store[i] = permute_store_of(i);
    for (long long at = blockIdx.x; at < tile.tiles; at += gridDim.x) {
        const permute_start start = permute_start_of(at);
        const unsigned char *from = (const unsigned char *)(src + start.src);
#pragma unroll
        for (int first = 0; first < loads; first += batch) {
            unsigned low[batch], high[batch];
#pragma unroll
            for (int i = 0; i < batch; i++)
                if (first + i < loads && load[first + i].to >= 0) {
                    const unsigned char *p = from + load[first + i].from, *aligned = p - past(p, 4);
                    low[i] = permute_word(aligned, (const unsigned char *)src, end);
                    high[i] = aligned == p ? 0 : permute_word(aligned + 4, (const unsigned char *)src, end);
                }
#pragma unroll
            for (int i = 0; i < batch; i++)
                if (first + i < loads && load[first + i].to >= 0)
                    held[load[first + i].to] = __funnelshift_r(low[i], high[i], 8 * past(from + load[first + i].from, 4));
        }
        __syncthreads();
        const bool cut = permute_is_cut<writes.dims>(start);
        const int left = permute_left(start) * ELEM_SIZE;
#pragma unroll
        for (int i = 0; i < stores; i++) {
            unsigned own = 0;
#pragma unroll
            for (int e = 0; e < 4 / ELEM_SIZE; e++)
                own |= (unsigned)*(const elem *)(bytes + store[i].held[e]) << 8 * ELEM_SIZE * e;
            const unsigned before = __shfl_up_sync(~0u, own, 1);
            unsigned char *to = (unsigned char *)(dst + start.dst + store[i].to);
            const int shift = past(to, 4), word = store[i].word * 4;
            if (threadIdx.x % 32 > 0 && store[i].word >= 0 && (!cut || permute_store_is_in(i, start)))
                permute_put(to + word - shift, __funnelshift_l(before, own, 8 * shift), shift - word, left + shift - word);
        }
        __syncthreads();
    }
}
