// As permute_any_tiled, for elements of 1 and 2 bytes. Rows are read in words, wherever they begin. TURN 1: each column of the tile is
// a run of the destination, and words are turned in registers, as in permute_shifted. TURN 0: words are gathered element by element.
//
//@ kernel    permute_any_small
//@ op        permute
//@ where     permute_any(0, 2) > 0
//@ derived   WIDE_LOAD permute_any(2, 2)
//@ derived   WIDE_STORE permute_any(3, 2)
//@ derived   UNIT      permute_any(4, 2)
//@ derived   TURN      permute_any(5, 2)
//@ block     256
//@ grid      permute_any(0, 2)
//@ shared    permute_any(1, 2)
//@ args      dst, src, struct permute_any

#define THREADS 256
#include "common.cuh"
#include "permute_any.cuh"
#include "permute_any_walk.cuh"

constexpr int part = 4 / ELEM_SIZE; // elements of a word
constexpr int batch = 4;

struct any_row {
    unsigned from, to; // bytes in the source, a word of shared memory
};

// At the tensor's ends. What is in no tensor is not read.
static __device__ unsigned any_edge_word(const unsigned char *at, const unsigned char *begin, const unsigned char *end) {
    unsigned word = 0;
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (at + k >= begin && at + k < end)
            word |= (unsigned)at[k] << 8 * k;
    return word;
}

// Element i of each of the words.
static __device__ unsigned any_turned(const unsigned *w, int i) {
    if (part == 2)
        return __byte_perm(w[0], w[1], i ? 0x7632 : 0x5410);
    const int pairs = i < 2 ? 0x5140 : 0x7362;
    return __byte_perm(__byte_perm(w[0], w[1], pairs), __byte_perm(w[2], w[3], pairs), i % 2 ? 0x7632 : 0x5410);
}

// Rows go to shared memory from a word on, wherever they begin in the source. Of a tile at the tensor's ends, vectors that reach
// beyond them are read byte by byte.
static __device__ void any_load(unsigned *held, const any_row *row, const unsigned char *from, const unsigned char *begin,
                                const unsigned char *end, unsigned loads, unsigned cut, const permute_any &a) {
    constexpr int words = WIDE_LOAD < 4 ? UNIT + 1 : UNIT; // that a vector lies in
    const unsigned skew = WIDE_LOAD < 4 ? past(from, 4) : 0;
    const unsigned char *base = from - skew;
    const bool inside = from >= begin + 3 && from + a.span + (UNIT + 1) * 4 <= end;
#pragma unroll 1
    for (unsigned first = threadIdx.x; first < loads; first += batch * THREADS) {
        unsigned got[batch][words], shift[batch];
        int to[batch];
#pragma unroll
        for (int i = 0; i < batch; i++) {
            const unsigned at = first + i * THREADS, r = any_div(at, a.row_multiplier), nth = (at - r * a.row_vectors) * UNIT;
            const any_row o = at < loads ? row[r] : any_row{0, ~0u};
            const unsigned b = o.from + (nth * 4 + skew);
            const unsigned char *p = base + (WIDE_LOAD < 4 ? b & ~3u : b);
            to[i] = -1;
            if (!(o.to & cut) && at < loads && (inside || (p >= begin && p + words * 4 <= end))) {
                to[i] = (int)((o.to & PERMUTE_ANY_BELOW) + nth);
                shift[i] = b << 3;
                constexpr int vec = WIDE_LOAD < 4 ? 1 : WIDE_LOAD / 4 < UNIT ? WIDE_LOAD / 4 : UNIT;
#pragma unroll
                for (int k = 0; k < words; k += vec) {
                    words_of<vec * 4> w;
                    w.v = *(const typename vec_of<vec * 4>::type *)(p + k * 4);
#pragma unroll
                    for (int j = 0; j < vec; j++)
                        got[i][k + j] = w.w[j];
                }
            }
        }
#pragma unroll
        for (int i = 0; i < batch; i++)
            if (to[i] >= 0)
#pragma unroll
                for (int k = 0; k < UNIT; k++)
#if WIDE_LOAD < 4
                    held[to[i] + k] = __funnelshift_r(got[i][k], got[i][k + 1], shift[i]); // the shift counts modulo 32
#else
                    held[to[i] + k] = got[i][k];
#endif
    }
    if (inside)
        return;
#pragma unroll 1
    for (unsigned at = threadIdx.x; at < loads; at += THREADS) {
        const unsigned r = any_div(at, a.row_multiplier), nth = (at - r * a.row_vectors) * UNIT;
        const any_row o = row[r];
        const unsigned b = o.from + (nth * 4 + skew);
        const unsigned char *p = base + (WIDE_LOAD < 4 ? b & ~3u : b);
        if (!(o.to & cut) && (p < begin || p + words * 4 > end))
#pragma unroll 1
            for (int k = 0; k < UNIT; k++)
                held[(o.to & PERMUTE_ANY_BELOW) + nth + k] = any_edge_word(base + (long long)b + k * 4, begin, end);
    }
}

#if TURN
// Words that runs fill. A turn has a word of as many runs as a word has elements. A warp stores 31 words, and has the one before
// them. With vectors, runs begin at words.
static __device__ void any_store(const unsigned *held, const unsigned *column, unsigned char *to, int columns, int rows,
                                 const permute_any &a) {
    const int run_words = (int)a.run_vectors, col_words = (a.cols.all + part - 1) / part;
#if WIDE_STORE >= 4
    const int all = run_words * col_words;
#pragma unroll 2
    for (int at = threadIdx.x; at < all; at += THREADS) {
        const int group = (int)any_div(at, a.run_multiplier), word = at - group * run_words;
        const unsigned *from = held + group + word * (int)a.pitch;
        unsigned w[4];
#pragma unroll
        for (int i = 0; i < part; i++)
            w[i] = from[i * a.plane];
#pragma unroll
        for (int i = 0; i < part; i++)
            if (group * part + i < columns && word * part < rows)
                *(unsigned *)(to + (column[group * part + i] + word * 4)) = any_turned(w, i);
    }
#else
    constexpr int step = THREADS / 32 * 31;
    const int lane = threadIdx.x % 32;
    const unsigned skew = past(to, 4), last = rows * ELEM_SIZE - 4;
    unsigned char *base = to - skew;
    const int stores = (run_words * col_words + step - 1) / step;
    const unsigned all = run_words * col_words;
    const int word_columns = rows < part ? 0 : columns;
    int at = (int)threadIdx.x / 32 * 31 + lane - 1;
#pragma unroll 2
    for (int k = 0; k < stores; k++, at += step) {
        const bool is = lane && at < (int)all;
        const int group = at >= 0 && at < (int)all ? (int)any_div(at, a.run_multiplier) : 0;
        const int word = at >= 0 && at < (int)all ? at - group * run_words : 0;
        const int col = group * part;
        const unsigned *from = held + group + word * (int)a.pitch;
        unsigned w[4];
#pragma unroll
        for (int i = 0; i < part; i++)
            w[i] = from[i * a.plane];
#pragma unroll
        for (int i = 0; i < part; i++) {
            const unsigned own = any_turned(w, i), before = __shfl_up_sync(~0u, own, 1);
            const unsigned o = column[col + i] + (skew + word * 4);
            const unsigned b = (is ? word * 4 : -16) - (o & 3); // of the run's bytes
            if (b <= last && col + i < word_columns)
                *(unsigned *)(base + (o & ~3u)) = __funnelshift_l(before, own, o << 3);
        }
    }
    // The elements before and behind them.
    if (part > 1)
        for (int u = threadIdx.x; u < 2 * columns; u += THREADS) {
            const int col = u / 2, at_end = u % 2;
            elem *p = (elem *)(to + column[col]);
            const int first = past(p, 4) / ELEM_SIZE, n = at_end ? (first + rows) % part : (part - first) % part;
#pragma unroll
            for (int i = 0; i < part - 1; i++)
                if (i < n && i < rows) {
                    const int r = at_end ? rows - 1 - i : i;
                    p[r] = ((const elem *)held)[(r % part * (int)a.plane + r / part * (int)a.pitch) * part + col];
                }
        }
#endif
}
#else
// Words that runs fill, gathered element by element.
static __device__ void any_store(const unsigned *words, const uint2 *run, const unsigned *along, unsigned char *to,
                                 int length, unsigned cut, const permute_any &a) {
    const unsigned all = a.runs * a.run_vectors;
#pragma unroll 2
    for (unsigned at = threadIdx.x; at < all; at += THREADS) {
        const unsigned r = any_div(at, a.run_multiplier), word = at - r * a.run_vectors;
        const uint2 o = run[r];
        if (o.y & cut)
            continue;
        const char *held = (const char *)words + (o.y & PERMUTE_ANY_BELOW);
        unsigned char *first = to + o.x;
        const int begin = (int)word * part - (WIDE_STORE >= 4 ? 0 : past(first, 4) / ELEM_SIZE);
        if (begin >= 0 && begin + part <= length) {
            words_of<4 * part> from;
#if WIDE_STORE >= 4
            from.v = *(const typename vec_of<4 * part>::type *)(along + begin);
#else
#pragma unroll
            for (int i = 0; i < part; i++)
                from.w[i] = along[begin + i];
#endif
            unsigned e[part];
#pragma unroll
            for (int i = 0; i < part; i++)
                e[i] = *(const elem *)(held + from.w[i]);
            *(unsigned *)(first + begin * ELEM_SIZE) =
                part == 2 ? __byte_perm(e[0], e[1], 0x5410)
                          : __byte_perm(__byte_perm(e[0], e[1], 0x0040), __byte_perm(e[2 % part], e[3 % part], 0x0040), 0x5410);
        } else
#pragma unroll
            for (int i = 0; i < part; i++)
                if (begin + i >= 0 && begin + i < length)
                    ((elem *)first)[begin + i] = *(const elem *)(held + along[begin + i]);
    }
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS)
    permute_any_small(elem *__restrict__ dst, const elem *__restrict__ src, PERMUTE_ANY_ARGUMENT a) {
    extern __shared__ uint4 shared[];
    any_row *row = (any_row *)shared;
    unsigned *held = (unsigned *)((char *)shared + a.held_at);
#if TURN
    unsigned *column = (unsigned *)((char *)shared + a.runs_at);
#else
    uint2 *run = (uint2 *)((char *)shared + a.runs_at);
    unsigned *along = (unsigned *)((char *)shared + a.along_at); // bytes of shared memory
#endif
    const unsigned n_rows = a.n_rows, n_runs = n_rows + a.n_runs, n_along = n_runs + a.n_along;
    const unsigned all_rows = a.rows, all_runs = all_rows + a.runs, all = all_runs + (TURN ? 0 : a.along.all);
    const any_start start = any_prepare(a, all, [&](unsigned i) {
        if (i < all_rows) {
            const unsigned to = TURN ? i % part * a.plane + i / part * a.pitch : i * a.pitch;
            const any_place p = any_walk(a, 0, n_rows, i);
            row[i] = {p.first * ELEM_SIZE, to | p.beyond};
        } else if (i < all_runs) {
            const any_place p = any_walk(a, n_rows, n_runs, i - all_rows);
#if TURN
            column[i - all_rows] = p.first * ELEM_SIZE;
#else
            run[i - all_rows] = make_uint2(p.first * ELEM_SIZE, p.second * ELEM_SIZE | p.beyond);
#endif
        }
#if !TURN
        else
            along[i - all_runs] = any_walk(a, n_runs, n_along, i - all_runs).first * ELEM_SIZE;
#endif
    });
    any_load(held, row, (const unsigned char *)(src + start.src), (const unsigned char *)src, (const unsigned char *)(src + a.reach),
             a.rows * a.row_vectors, start.cut, a);
    __syncthreads();
    unsigned char *to = (unsigned char *)(dst + start.dst);
#if TURN
    any_store(held, column, to, any_count(a.cols, start), any_count(a.along, start), a);
#else
    any_store(held, run, along, to, any_count(a.along, start), start.cut, a);
#endif
}
