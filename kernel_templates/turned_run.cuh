// For templates that write one run. Rows of 1- and 2-byte elements are read in words, ABREAST columns each, and turned in
// registers. The result goes to a second tile, which has the layout of the written run, with free places with PAD.

#include "chunk.cuh"

#define TURN_MAX     16 // rows at once
#define OWN_CODE_MAX 6

// The N_ROWS rows are turned TURN at a time, the last ones perhaps fewer.
#define TURN_ROUNDS ((N_ROWS + TURN_MAX - 1) / TURN_MAX)
#define TURN        (((N_ROWS + TURN_ROUNDS - 1) / TURN_ROUNDS + ABREAST - 1) / ABREAST * ABREAST)
// A word that a column ends in goes on with the first rows of the next column.
#define STRADDLE (N_ROWS % ABREAST ? ABREAST - 1 : 0)

static __device__ int place_turned(int b) {
    return placed<PAD>(b);
}

// It follows the first tile. The run begins there as far from a multiple of VS as in `dst`, in whole words.
static __device__ char *second_tile(char *tile, int read_bytes) {
    return tile + (place(read_bytes) + VEC - 1) / VEC * VEC;
}
static __device__ int begin_of(const elem *dst) {
    return VEC + (past(dst, VS) & -WORD);
}

// The word that begins with byte `b` of the tile.
template <bool ALIGNED> static __device__ unsigned int word_at(const char *tile, int b) {
    const int low = b & -WORD;
    if (ALIGNED)
        return *(const unsigned int *)(tile + place(b));
    return __funnelshift_r(*(const unsigned int *)(tile + place(low)), *(const unsigned int *)(tile + place(low + WORD)),
                           b % WORD * 8);
}

// Turns the rows from `row` on. Row 0 is at byte `from`, rows are STEP bytes apart, and the first element goes to byte `to` of
// `out`. Of each column it writes the words that begin in it.
template <int STEP, bool ALIGNED> static __device__ void turn_rows(char *out, int to, const char *tile, int from, int row) {
    unsigned int in[TURN + STRADDLE];
#pragma unroll
    for (int i = 0; i < TURN + STRADDLE; i++) {
        const int r = row + i, over = TURN_ROUNDS > OWN_CODE_MAX ? r >= N_ROWS : r / N_ROWS; // columns further
        if (r < N_ROWS + STRADDLE)
            in[i] = word_at<ALIGNED>(tile, from + (r - over * N_ROWS) * STEP) >> over * ELEM_SIZE * 8;
    }
#pragma unroll
    for (int k = 0; k < ABREAST; k++)
#pragma unroll
        for (int i = 0; i < TURN; i += ABREAST) {
            const int first = i + (ABREAST - k * N_ROWS % ABREAST) % ABREAST;
            if (row + first < N_ROWS)
                *(unsigned int *)(out + place_turned(to + (k * N_ROWS + row + first) * ELEM_SIZE)) = join([&](int j) {
                    return part{in[first + j], k};
                });
        }
}

// One of TURN_ROUNDS. If these are few, each has code of its own, where all rows are constants.
template <int STEP, bool ALIGNED> static __device__ void turn_round(char *out, int to, const char *tile, int from, int round) {
    if (TURN_ROUNDS > OWN_CODE_MAX) {
        turn_rows<STEP, ALIGNED>(out, to, tile, from, round * TURN);
        return;
    }
#pragma unroll
    for (int k = 0; k < TURN_ROUNDS; k++)
        if (TURN_ROUNDS == 1 || k == round)
            turn_rows<STEP, ALIGNED>(out, to, tile, from, k * TURN);
}

// The words of a vector that is at byte `b` of `out`, or so many bytes before it.
static __device__ void load_vector(unsigned int *w, const char *out, int b, int before) {
    const unsigned int *from = (const unsigned int *)(out + place_turned(b));
#if VS == 16 && !PAD
    const uint4 v = *(const uint4 *)from;
    w[0] = v.x, w[1] = v.y, w[2] = v.z, w[3] = v.w;
#else
#pragma unroll
    for (int i = 0; i < WORDS; i++)
        w[i] = from[i];
#endif
    if (before) {
        unsigned int low = *(const unsigned int *)(out + place_turned(b - WORD));
#pragma unroll
        for (int i = 0; i < WORDS; i++) {
            const unsigned int high = w[i];
            w[i] = __funnelshift_r(low, high, (WORD - before) * 8);
            low = high;
        }
    }
}

// Writes the run of `n` elements, MOST at the most, that is in `out`; `even` as in write_runs.
template <int MOST> static __device__ void write_turned(elem *run, int n, const char *out, bool even) {
    const int first = min(before(run, VS), n), last = first + (n - first) / PER * PER;
    const int begin = VEC + (past(run, VS) ? VS : 0); // of the first whole vector
#pragma unroll 4
    for (int k = 0; k < MOST / PER; k += THREADS) {
        const int v = k + (int)threadIdx.x, q = first + v * PER;
        unsigned int words[WORDS];
        load_vector(words, out, begin + (q < last ? v : 0) * VS, past(run, WORD));
        store_if<VS>(q < last, run + q, words);
    }
    if (!even)
        write_ends(run, 0, 1, n, [&](int, int q) { return out + place_turned(begin_of(run) + q * ELEM_SIZE); });
}
