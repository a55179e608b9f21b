// Elements of 1 and 2 bytes are turned in words of 4 bytes: gathered one by one they would be the more work the smaller
// they are. Included by templates, no template of its own.

#include "chunk.cuh"

#define WORD 4
#define ABREAST (ELEM_SIZE < WORD ? WORD / ELEM_SIZE : 1) // elements of a word

// The word that begins with byte `b` of what was read.
static __device__ unsigned int word_at(const char *tile, int b) {
    const unsigned int low = *(const unsigned int *)(tile + place(b & -WORD));
    if (b % WORD == 0)
        return low;
    return __funnelshift_r(low, *(const unsigned int *)(tile + place((b & -WORD) + WORD)), b % WORD * 8);
}

// The `at`th element of a word.
struct part {
    unsigned int word;
    int at;
};
// A word of ABREAST such. All `at` are constants after unrolling.
template <class PARTS> static __device__ unsigned int join(PARTS parts) {
#if ELEM_SIZE == 1
    const part a = parts(0), b = parts(1), c = parts(2), d = parts(3);
    const unsigned int low = __byte_perm(a.word, b.word, a.at | (b.at + 4) << 4);
    const unsigned int high = __byte_perm(c.word, d.word, c.at | (d.at + 4) << 4);
    return __byte_perm(low, high, 0x5410);
#elif ELEM_SIZE == 2
    const part a = parts(0), b = parts(1);
    return __byte_perm(a.word, b.word, (a.at ? 0x0032 : 0x0010) | (b.at ? 0x7600 : 0x5400));
#else
    return parts(0).word;
#endif
}

// ---- Of templates that write one run ----
//
// What N_ROWS rows have in ABREAST columns that lie side by side, a word each, is turned in registers, `GROUP` rows at a
// time, and put where it belongs in a second tile, which is as the run that is to be written.

#define GROUP_MAX 32

// Rows that are turned at once: all, or else so many that each column of them is whole words; 0: neither can be.
static __device__ constexpr int group_of(int rows) {
    for (int n = GROUP_MAX; n >= ABREAST; n -= ABREAST)
        if (rows > GROUP_MAX && rows % n == 0)
            return n;
    return rows <= 2 * GROUP_MAX ? rows : 0;
}

// Turns N rows of which the i-th begins at byte `row(i)` of the tile; the first element is to be at byte `to` of `out`,
// and what is next to it on the right `rows` elements behind it.
template <int N, class ROW>
static __device__ void turn_rows(char *out, int to, int rows, const char *tile, ROW row) {
    unsigned int in[N];
#pragma unroll
    for (int i = 0; i < N; i++)
        in[i] = word_at(tile, row(i));
#pragma unroll
    for (int k = 0; k < N; k++) {
        const int first = k * ABREAST, column = N % ABREAST ? 0 : first / N; // or all rows, which follow each other
        *(unsigned int *)(out + place(to + (column * (rows - N) + first) * ELEM_SIZE)) =
            join([&](int i) { return part{in[(first + i) % N], (first + i) / N}; });
    }
}

// Writes vector `v` of the `n` elements from `run` on, which are in `out` as far behind a multiple of VS bytes.
static __device__ void write_turned(elem *run, int v, int n, const char *out) {
    const int q = v * PER - past(run, VS) / ELEM_SIZE;
    if (q >= 0 && q + PER <= n) {
        union {
            out_vec v;
            unsigned int w[VS / WORD];
        } vec;
#pragma unroll
        for (int i = 0; i < VS / WORD; i++)
            vec.w[i] = *(const unsigned int *)(out + place(v * VS + i * WORD));
        *(out_vec *)(run + q) = vec.v;
    } else
#pragma unroll 1
        for (int i = max(q, 0); i < min(q + PER, n); i++)
            run[i] = *(const elem *)(out + place(past(run, VS) + i * ELEM_SIZE));
}
