// For elements of 1 and 2 bytes. A tile is a matrix: its rows follow the source, and each column becomes a run of the destination.
// Rows and runs may begin anywhere, so a thread reads words, turns them in registers, and writes words. Large tiles touch few sectors
// twice. Tables in shared memory say where rows and columns are, so a thread needs no registers for that.
//
//@ kernel    permute_shifted
//@ op        permute
//@ param     READ_RUN  64 96 128 256
//@ param     WRITE_RUN 128 256 512 768 1024
//@ param     THREADS   256 768
//@ param     ORDER     0 1
//@ let       V      4
//@ let       bytes  permute_tile(1, READ_RUN, WRITE_RUN) * elem_size
//@ let       row    permute_tile(4, READ_RUN, WRITE_RUN) * elem_size
//@ let       rows   permute_tile(5, READ_RUN, WRITE_RUN)
//@ let       row_words ceil_div(row, 4)
//@ let       run_words ceil_div(rows * elem_size + 6, 4)
//@ let       tables rows * 16 + row_words * 4 / elem_size * 8
//@ where     elem_size <= 2 AND stride0 > 1
//@ where     row * rows = bytes AND row > elem_size
//@ where     (READ_RUN = 64 AND WRITE_RUN = 128) OR bytes BETWEEN THREADS * 16 AND 98304
//@ block     THREADS
//@ grid      permute_tile(0, READ_RUN, WRITE_RUN)
//@ shared    tables + (row_words + 4) * run_words * 16 / elem_size + 16
//@ args      dst, src
//@ default   READ_RUN=64 WRITE_RUN=128 THREADS=256 ORDER=1

#define PAD        1
#define WIDE_LOAD  ELEM_SIZE
#define WIDE_STORE ELEM_SIZE
#include "common.cuh"
#include "permute_tile.cuh"
#include "permute.cuh"

constexpr int width = tile.read_length, height = tile.write_length; // elements of a row, rows
constexpr int part = 4 / ELEM_SIZE;                                  // elements of a word
constexpr int row_words = (width + part - 1) / part, run_words = (height + 2 * part - 2) / part; // a run begins anywhere in a word

// How far an element of a row, or a row, is from the tile's first element: a row in the source, a run in the destination.
template <bool OF_ROW, int I> static __device__ permute_distance permute_distance_of(unsigned index) {
    if constexpr (I < (OF_ROW ? tile.write_dims : tile.read_dims)) {
        constexpr int k = OF_ROW ? I : tile.order[I];
        constexpr unsigned size = tile.size[k];
        constexpr bool last = I == (OF_ROW ? tile.write_dims : tile.read_dims) - 1;
        constexpr permute_distance stride = OF_ROW ? shape.stride[k] : permute_dst_stride(k);
        const unsigned next = last ? 0 : permute_div<unsigned, size>(index);
        return (int)(index - next * size) * stride + permute_distance_of<OF_ROW, I + 1>(next);
    }
    return 0;
}

// Bytes of the source that a tile reads, from its first element on, if it reads so many words of each row.
static __device__ constexpr long long permute_span(int words) {
    long long last = 0;
    for (int k = 0; k < tile.write_dims; k++)
        last += (tile.size[k] - 1) * shape.stride[k];
    return last * ELEM_SIZE + words * 4LL;
}

// A tile: where it begins, in bytes, the rows and columns that are in the tensor, and whether it can be read as whole words.
struct permute_begin {
    long long src, dst;
    int width, height, inside;
};

// The kernel reads WORDS of each row. The first of them contains the row's first element.
template <int WORDS> static __device__ permute_begin permute_begin_of(long long at) {
    constexpr int across = tile.order[tile.read_dims - 1], down = tile.write_dims - 1;
    constexpr int x = tile.size[across], y = tile.size[down];
    constexpr long long span = permute_span(WORDS), reach = permute_reach() * ELEM_SIZE;
    const permute_start s = permute_start_of(at);
    const long long src = s.src * ELEM_SIZE;
    return {src, s.dst * ELEM_SIZE, s.left[across] < x ? (int)s.left[across] * (width / x) : width,
            s.left[down] < y ? (int)s.left[down] * (height / y) : height,
            src >= 3 && src + span <= reach};
}

// At the tensor's ends. What is in no tensor is not read.
static __device__ unsigned permute_edge_word(const unsigned char *at, const unsigned char *src) {
    const unsigned char *end = src + permute_reach() * ELEM_SIZE;
    unsigned word = 0;
    for (int k = 0; k < 4; k++)
        if (at + k >= src && at + k < end)
            word |= (unsigned)at[k] << 8 * k;
    return word;
}

// Element i of each of the words.
static __device__ unsigned permute_turned(const unsigned *w, int i) {
    if (part == 2)
        return __byte_perm(w[0], w[1], i ? 0x7632 : 0x5410);
    const int pairs = i < 2 ? 0x5140 : 0x7362;
    return __byte_perm(__byte_perm(w[0], w[1], pairs), __byte_perm(w[2], w[3], pairs), i % 2 ? 0x7632 : 0x5410);
}

// The number of words that a thread loads at once. It minimises the cost of a row, in instructions.
static __device__ constexpr int permute_unit_of(int words) {
    int best = 4;
    for (int n = 3; n > 0; n--)
        if ((words + n - 1) / n * (10 + 4 * n) < (words + best - 1) / best * (10 + 4 * best))
            best = n;
    return best;
}

typedef permute_counts<permute_is_near(ELEM_SIZE)>::type permute_offset; // bytes from the tile's first element

// Rows 0, part, 2 part ... make a plane of shared memory. The next rows make the next plane. With an odd pitch, words of a column are
// in different banks.
constexpr int unit = permute_unit_of(row_words), units = (row_words + unit - 1) / unit;
constexpr int pitch = units * unit | 1, plane = run_words * pitch;
constexpr int warps = THREADS / 32;
constexpr int loads = (units * height + THREADS - 1) / THREADS, turns = (loads + 3) / 4, batch = (loads + turns - 1) / turns;
// A warp stores 31 words, and has the one before them.
constexpr int blocks = run_words * row_words, step = warps * 31, stores = (blocks + step - 1) / step;

// A row: bytes from the tile's first element in the source, and a word of shared memory.
struct permute_row {
    permute_offset from;
    int to;
};

// What a block keeps in shared memory.
struct permute_block {
    permute_row rows[height];
    permute_offset columns[row_words * part]; // bytes from the tile's first element in the destination
    unsigned held[plane * part];
};

static __device__ void permute_prepare(permute_block &b) {
    for (int i = threadIdx.x; i < height; i += THREADS)
        b.rows[i] = {(permute_offset)permute_distance_of<true, 0>(i) * ELEM_SIZE, i % part * plane + i / part * pitch};
    for (int i = threadIdx.x; i < row_words * part; i += THREADS)
        b.columns[i] = (permute_offset)permute_distance_of<false, 0>(i < width ? i : 0) * ELEM_SIZE;
}

// ---- Reading ----

static __device__ void permute_load_edge(permute_block &b, const unsigned char *src, long long begin) {
#pragma unroll 1
    for (unsigned at = threadIdx.x; at < row_words * height; at += THREADS) {
        const permute_row r = b.rows[at / row_words];
        const int word = at % row_words;
        b.held[r.to + word] = permute_edge_word(src + begin + r.from + word * 4, src);
    }
}

static __device__ void permute_load(permute_block &b, const unsigned char *from) {
    const unsigned skew = past(from, 4);
    const unsigned char *base = from - skew;
    unsigned row = threadIdx.x / units, nth = threadIdx.x % units;
#pragma unroll 1
    for (int turn = 0; turn < turns; turn++) {
        unsigned got[batch][unit + 1], shift[batch];
        int to[batch];
#pragma unroll
        for (int i = 0; i < batch; i++) {
            to[i] = -1;
            if (row < height) {
                const permute_row r = b.rows[row];
                const permute_offset at = r.from + (nth * unit * 4 + skew);
                const unsigned *p = (const unsigned *)(base + (at & ~(permute_offset)3));
#pragma unroll
                for (int k = 0; k <= unit; k++)
                    got[i][k] = p[k];
                shift[i] = (unsigned)at << 3;
                to[i] = r.to + (int)(nth * unit);
            }
            row += THREADS / units;
            nth += THREADS % units;
            if (nth >= units) {
                nth -= units;
                row++;
            }
        }
#pragma unroll
        for (int i = 0; i < batch; i++)
            if (to[i] >= 0)
#pragma unroll
                for (int k = 0; k < unit; k++) // the shift counts modulo 32
                    b.held[to[i] + k] = __funnelshift_r(got[i][k], got[i][k + 1], shift[i]);
    }
}

// ---- Writing ----

// Words that runs fill. A turn has a word of as many runs as a word has elements.
static __device__ void permute_store_words(const permute_block &b, unsigned char *to, int columns, int rows) {
    const int lane = threadIdx.x % 32, first = (int)threadIdx.x / 32 * 31 + lane + run_words - 1;
    const unsigned skew = past(to, 4), last = rows * ELEM_SIZE - 4;
    unsigned char *base = to - skew;
    int group = first / run_words - 1, word = first % run_words; // the first lane begins before all of them
    if (rows < part)
        columns = 0;
#pragma unroll(stores < 2 ? stores : 2)
    for (int k = 0; k < stores; k++) {
        const bool is = lane && group < row_words;
        const int column = (unsigned)group < row_words ? group * part : 0;
        const unsigned *held = b.held + column / part + word * pitch;
        unsigned w[4];
#pragma unroll
        for (int i = 0; i < part; i++)
            w[i] = held[i * plane];
#pragma unroll
        for (int i = 0; i < part; i++) {
            const unsigned own = permute_turned(w, i), before = __shfl_up_sync(~0u, own, 1);
            const permute_offset o = b.columns[column + i] + (skew + word * 4);
            const unsigned at = (is ? word * 4 : -16) - (unsigned)(o & 3); // of the run's bytes
            if (at <= last && column + i < columns)
                *(unsigned *)(base + (o & ~(permute_offset)3)) = __funnelshift_l(before, own, (unsigned)o << 3);
        }
        group += step / run_words;
        word += step % run_words;
        if (word >= run_words) {
            word -= run_words;
            group++;
        }
    }
}

// The elements before and behind them.
static __device__ void permute_store_ends(const permute_block &b, unsigned char *to, int columns, int rows) {
    for (int u = threadIdx.x; u < 2 * columns; u += THREADS) {
        const int column = u / 2, last = u % 2;
        elem *p = (elem *)(to + b.columns[column]);
        const int first = past(p, 4) / ELEM_SIZE, n = last ? (first + rows) % part : (part - first) % part;
#pragma unroll
        for (int i = 0; i < part - 1; i++)
            if (i < n && i < rows) {
                const int row = last ? rows - 1 - i : i;
                p[row] = ((const elem *)b.held)[b.rows[row].to * part + column];
            }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, THREADS > 512 ? 2 : 1024 / THREADS)
    permute_shifted(elem *__restrict__ dst, const elem *__restrict__ src) {
    extern __shared__ long long shared[];
    permute_block &b = *(permute_block *)shared;
    const permute_begin t = permute_begin_of<units * unit + 1>(blockIdx.x);
    permute_prepare(b);
    __syncthreads();
    if (t.inside)
        permute_load(b, (const unsigned char *)src + t.src);
    else
        permute_load_edge(b, (const unsigned char *)src, t.src);
    __syncthreads();
    permute_store_words(b, (unsigned char *)dst + t.dst, t.width, t.height);
    permute_store_ends(b, (unsigned char *)dst + t.dst, t.width, t.height);
}
