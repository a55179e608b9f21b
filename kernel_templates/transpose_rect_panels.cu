// Rectangles in place, in two passes over the bytes. The long side is cut into panels of HEIGHT. With more rows than columns:
//
// 1. A panel, HEIGHT x `few`, is transposed. It becomes `few` slots of HEIGHT elements. Slots lie where the result has them:
//    `tail` elements are left free after each `panels` slots, because the long side is HEIGHT * panels + tail.
// 2. Slots go to their places along the cycles of their permutation. PARTS parts of a slot move on their own.
//
// With more columns than rows (WIDE) the same happens backwards. In pass 1, tiles of a panel wait until what they overwrite was
// read. That must be tiles that blocks began earlier, or there could be a deadlock. So panels are taken in order, and each moves
// up by one panel. The first one goes to scratch memory (`spare`), and so do the tails of slots. In pass 2, two bits for each
// piece say whether a thread has claimed it, and whether it was read and may be overwritten.
//@ kernel   transpose_rect_panels
//@ op       transpose_rect_in_place
//@ param    PIECE    256 128 512 64
//@ param    PARTS    8 1
//@ param    TILE     65536 32768 16384
//@ param    THREADS  256 512
//@ param    LANES    16 8 32 4
//@ derived  WIDE     cols > rows
//@ derived  VEC      align
//@ derived  HEIGHT   PIECE * PARTS / elem_size
//@ derived  SPAN     min(rows, cols, TILE / (PIECE * PARTS))
//@ let      few      min(rows, cols)
//@ let      panels   max(rows, cols) / HEIGHT
//@ let      tail     max(rows, cols) % HEIGHT
//@ let      items    few * panels * PARTS
//@ where    few > 1 AND panels > 1 AND items < 2147483648
//@ where    few * (HEIGHT + tail) * elem_size + items / 4 + 4 * panels + 256 <= rows * cols * elem_size / 100
//@ where    PARTS = 1 OR (PIECE = 512 AND SPAN = few)
//@ where    SPAN = few OR SPAN * elem_size >= 64
//@ where    PIECE / (LANES * align) BETWEEN 1 AND 16 AND (LANES = 32 OR PIECE / (LANES * align) <= 4)
//@ block    THREADS
//@ grid     min(1 + few * max(tail, HEIGHT / 16) / THREADS, 4 * sm_count)
//@ args     dst, scratch, i64 max(rows, cols), i64 few
//@ kernel   panels_first
//@ when     NOT WIDE
//@ block    THREADS
//@ grid     (panels + (tail > 0)) * ceil_div(few, SPAN)
//@ shared   HEIGHT * (ceil_div(SPAN * elem_size, max(4, elem_size)) | 1) * max(4, elem_size)
//@ args     dst, scratch, i64 max(rows, cols), i64 few
//@ kernel   move_pieces
//@ block    THREADS
//@ grid     sm_count * (2048 / THREADS)
//@ args     dst, scratch, i64 max(rows, cols), i64 few
//@ kernel   panels_last
//@ when     WIDE
//@ block    THREADS
//@ grid     (panels + (tail > 0)) * ceil_div(few, SPAN)
//@ shared   HEIGHT * (ceil_div(SPAN * elem_size, max(4, elem_size)) | 1) * max(4, elem_size)
//@ args     dst, scratch, i64 max(rows, cols), i64 few
//@ kernel   put_tails
//@ when     NOT WIDE AND tail > 0
//@ block    THREADS
//@ grid     min(1 + few * tail / THREADS, 4 * sm_count)
//@ args     dst, scratch, i64 max(rows, cols), i64 few
//@ default  PIECE=128 PARTS=1 TILE=32768 THREADS=256 LANES=8

#include "common.cuh"

#define PER   (VEC / ELEM_SIZE)                                     // elements of a vector
#define UNIT  (ELEM_SIZE < 4 ? 4 : ELEM_SIZE)                       // shared memory has an odd number of these from row to row
#define PITCH ((((SPAN * ELEM_SIZE + UNIT - 1) / UNIT) | 1) * UNIT) // of a panel

// A vector as words, of which the first may be used in part.
union pack {
    vec_of<VEC>::type v;
    unsigned w[(VEC + 3) / 4];
};
static __device__ elem element_of(const pack &p, int i) {
#if ELEM_SIZE == 16
    return make_uint4(p.w[4 * i], p.w[4 * i + 1], p.w[4 * i + 2], p.w[4 * i + 3]);
#elif ELEM_SIZE == 8
    return make_uint2(p.w[2 * i], p.w[2 * i + 1]);
#else
    return (elem)(p.w[i * ELEM_SIZE / 4] >> i * ELEM_SIZE % 4 * 8);
#endif
}
static __device__ void set_element(pack &p, int i, elem e) {
#if ELEM_SIZE == 16
    p.w[4 * i] = e.x, p.w[4 * i + 1] = e.y, p.w[4 * i + 2] = e.z, p.w[4 * i + 3] = e.w;
#elif ELEM_SIZE == 8
    p.w[2 * i] = e.x, p.w[2 * i + 1] = e.y;
#else
    const int shift = i * ELEM_SIZE % 4 * 8;
    p.w[i * ELEM_SIZE / 4] = shift ? p.w[i * ELEM_SIZE / 4] | (unsigned)e << shift : e;
#endif
}

// The matrix, and what scratch memory has.
struct rect {
    elem *a;
    long long few;
    unsigned panels;
    int tail;
    elem *spare, *tails; // one panel; the tails of all slots
    unsigned claimed_words;
    unsigned *claimed, *read, *loaded, *ticket; // bits, bits, tiles of each panel, the next tile

    __device__ rect(elem *a, unsigned char *scratch, long long many, long long few) : a(a), few(few) {
        panels = (unsigned)(many / HEIGHT);
        tail = (int)(many % HEIGHT);
        spare = (elem *)(scratch + (16 - past(scratch, 16)) % 16);
        tails = spare + few * HEIGHT;
        claimed_words = (unsigned)((pieces() + 31) / 32);
        claimed = (unsigned *)(spare + (few * (HEIGHT + tail) * ELEM_SIZE + 15) / 16 * 16 / ELEM_SIZE);
        read = claimed + claimed_words;
        loaded = read + claimed_words;
        ticket = loaded + panels + 1;
    }
    __device__ unsigned pieces() const {
        return (unsigned)few * panels * PARTS;
    }
    // Slots are numbered as they lie; after those of the matrix come those of the spare panel.
    __device__ elem *slot(unsigned i) const {
        const unsigned last = (unsigned)few * panels;
        return i < last ? a + (long long)i * HEIGHT + (long long)(tail ? i / panels : 0) * tail
                        : spare + (long long)(i - last) * HEIGHT;
    }
};

// Clears the bits and numbers. With WIDE, the tails of slots are still in the matrix.
extern "C" __global__ void __launch_bounds__(THREADS)
    transpose_rect_panels(elem *dst, unsigned char *scratch, long long many, long long few) {
    const rect r(dst, scratch, many, few);
    const long long first = (long long)blockIdx.x * THREADS + threadIdx.x, step = (long long)gridDim.x * THREADS;
    const unsigned beyond = r.pieces() % 32; // bits of the last word that are nobody's
    for (long long i = first; i < 2ll * r.claimed_words + r.panels + 2; i += step)
        r.claimed[i] = beyond && i == r.claimed_words - 1 ? ~0u << beyond : 0;
    for (long long i = first; WIDE && i < few * r.tail; i += step)
        r.tails[i] = dst[i / r.tail * many + (long long)r.panels * HEIGHT + i % r.tail];
}

extern "C" __global__ void __launch_bounds__(THREADS)
    put_tails(elem *dst, unsigned char *scratch, long long many, long long few) {
    const rect r(dst, scratch, many, few);
    for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < few * r.tail; i += (long long)gridDim.x * THREADS)
        dst[i / r.tail * many + (long long)r.panels * HEIGHT + i % r.tail] = r.tails[i];
}

// ---- Panels ----

// The i-th vector of a tile that has rows of so many. A warp takes 128 bytes of several rows, for the sake of the banks of
// shared memory.
template <int ACROSS> struct place {
    int row, vector;
    __device__ explicit place(int i) {
        const int lanes = VEC < 4 ? 32 : 128 / VEC, rows = 32 / lanes;
        if (ACROSS % lanes == 0) {
            const int rest = i / 32;
            row = rest / (ACROSS / lanes) * rows + i / lanes % rows;
            vector = rest % (ACROSS / lanes) * lanes + i % lanes;
        } else {
            row = i / ACROSS;
            vector = i % ACROSS;
        }
    }
};

// One side of a tile: rows of `length` elements in memory, `pitch` elements apart, and after `left` of them `gap` more for each
// `group`.
struct side {
    elem *first;
    long long pitch;
    int rows, length;
    unsigned left, group;
    int gap;
    __device__ elem *at(int row) const {
        return first + row * pitch + (long long)(gap ? (left + row) / group : 0) * gap;
    }
};

// Between memory and shared memory, where element `i` of row `row` is at row * ROW + i * ELEMENT bytes.
template <int ROWS, int LENGTH, int ROW, int ELEMENT> static __device__ void read_tile(char *tile, const side &s) {
    const int across = LENGTH / PER, all = (ROWS + 3) / 4 * 4 * across, turns = (all + THREADS - 1) / THREADS;
    const int batch = turns < 8 ? turns : 8;
#pragma unroll 1
    for (int k = 0; k < turns; k += batch) {
        pack in[batch];
#pragma unroll
        for (int b = 0; b < batch; b++) {
            const place<across> p((int)threadIdx.x + (k + b) * THREADS);
            in[b].w[0] = 0;
            if (p.row < s.rows && p.vector * PER < s.length)
                in[b].v = *(const vec_of<VEC>::type *)(s.at(p.row) + p.vector * PER);
        }
#pragma unroll
        for (int b = 0; b < batch; b++) {
            const place<across> p((int)threadIdx.x + (k + b) * THREADS);
            if (p.row < s.rows && p.vector * PER < s.length)
#pragma unroll
                for (int i = 0; i < PER; i++)
                    *(elem *)(tile + p.row * ROW + (p.vector * PER + i) * ELEMENT) = element_of(in[b], i);
        }
    }
}

template <int ROWS, int LENGTH, int ROW, int ELEMENT> static __device__ void write_tile(const char *tile, const side &s) {
    const int across = LENGTH / PER, all = (ROWS + 3) / 4 * 4 * across;
#pragma unroll 4
    for (int k = 0; k < all; k += THREADS) {
        const place<across> p((int)threadIdx.x + k);
        if (p.row < s.rows && p.vector * PER < s.length) {
            pack out;
#pragma unroll
            for (int i = 0; i < PER; i++)
                set_element(out, i, *(const elem *)(tile + p.row * ROW + (p.vector * PER + i) * ELEMENT));
            *(vec_of<VEC>::type *)(s.at(p.row) + p.vector * PER) = out.v;
        }
    }
}

// Waits until all tiles of a panel were read. Blocks that began earlier have them.
static __device__ void wait_for(const volatile unsigned *loaded, unsigned tiles) {
    while (*loaded < tiles)
        __nanosleep(100);
}

static __device__ void move_panels(const rect &r) {
    extern __shared__ uint4 shared[];
    __shared__ unsigned number;
    char *tile = (char *)shared;
    if (threadIdx.x == 0)
        number = atomicAdd(r.ticket, 1u);
    __syncthreads();
    const unsigned tiles = (unsigned)((r.few + SPAN - 1) / SPAN), last = r.tail ? r.panels : r.panels - 1;
    if (number >= tiles * (last + 1)) // only if scratch memory was not cleared
        return;
    const unsigned panel = WIDE ? number / tiles : last - number / tiles;
    const long long col = (long long)(number % tiles) * SPAN;
    const bool is_tail = panel == r.panels;
    const int height = is_tail ? r.tail : HEIGHT, width = (int)min(r.few - col, (long long)SPAN);

    const side rows = {r.a + panel * (HEIGHT * r.few) + col, r.few, height, width, 0, 1, 0};
    side slots = {r.tails + col * r.tail, r.tail, width, height, 0, 1, 0};
    if (!is_tail) {
        const unsigned slot = (panel + 1) * (unsigned)r.few + (unsigned)col;
        slots.first = r.slot(slot), slots.pitch = HEIGHT;
        if (panel + 1 < r.panels)
            slots.left = slot % r.panels, slots.group = r.panels, slots.gap = r.tail;
    }
    if (WIDE)
        read_tile<SPAN, HEIGHT, ELEM_SIZE, PITCH>(tile, slots);
    else
        read_tile<HEIGHT, SPAN, PITCH, ELEM_SIZE>(tile, rows);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&r.loaded[panel], 1u);
        for (unsigned k = 1; k <= 2; k++) // slots begin up to a panel after the rows of as many panels
            if (WIDE ? panel >= k : panel + 1 < r.panels && panel + k <= last)
                wait_for(&r.loaded[WIDE ? panel - k : panel + k], tiles);
        __threadfence();
    }
    __syncthreads();
    if (WIDE)
        write_tile<HEIGHT, SPAN, PITCH, ELEM_SIZE>(tile, rows);
    else
        write_tile<SPAN, HEIGHT, ELEM_SIZE, PITCH>(tile, slots);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    panels_first(elem *dst, unsigned char *scratch, long long many, long long few) {
    move_panels(rect(dst, scratch, many, few));
}
extern "C" __global__ void __launch_bounds__(THREADS)
    panels_last(elem *dst, unsigned char *scratch, long long many, long long few) {
    move_panels(rect(dst, scratch, many, few));
}

// ---- Pieces ----

#define PIECE_VECTORS (PIECE / VEC)
#define EACH          ((PIECE_VECTORS + LANES - 1) / LANES)

// LANES threads carry a piece to its place, and take the one that was there with them. They end a walk at a free place, or at
// one that others have claimed, and begin another. `from` is the piece to read now, and `to` the place of the one they hold.
extern "C" __global__ void __launch_bounds__(THREADS)
    move_pieces(elem *dst, unsigned char *scratch, long long many, long long few_columns) {
    typedef vec_of<VEC>::type vec;
    const rect r(dst, scratch, many, few_columns);
    const unsigned few = (unsigned)r.few, slots = few * r.panels;
    const unsigned first = WIDE ? 0 : few, end = first + slots; // slots that hold something; a free one gets something
    const unsigned lane = threadIdx.x % LANES, groups = gridDim.x * (THREADS / LANES);
    unsigned word = (blockIdx.x * THREADS + threadIdx.x) / LANES, from = 0, to = 0, part = 0, open = 0;
    bool holds = false, is_mine = false, is_free = false, is_new = true; // of `to`: claimed here; nothing is there
    vec held[EACH], found[EACH];
    for (;;) {
        // A new walk begins at the first piece of a word that is not claimed.
        unsigned start = 0;
        bool starts = false;
        if (!holds && word < r.claimed_words) {
            if (lane == 0) {
                open = is_new ? ~*(volatile unsigned *)&r.claimed[word] : open;
                if (open) {
                    const unsigned bit = open & -open;
                    starts = !(atomicOr(&r.claimed[word], bit) & bit);
                    start = word * 32 + __ffs((int)open) - 1;
                    open &= open - 1;
                }
            }
        }
        start = __shfl_sync(~0u, start, 0, LANES);
        starts = __shfl_sync(~0u, (int)starts, 0, LANES);
        open = __shfl_sync(~0u, open, 0, LANES);
        is_new = false;
        if (starts) {
            from = start / PARTS + first;
            part = start % PARTS;
        } else if (holds)
            from = to;
        const bool reads = starts || (holds && is_mine);

        // Read, and claim the next place already.
        const unsigned item = (from - first) * PARTS + part;
        unsigned next = 0, next_item = 0, seen = 0;
        bool next_is_free = false;
        if (reads) {
            const vec *at = (const vec *)(r.slot(from) + part * (PIECE / ELEM_SIZE));
#pragma unroll
            for (int k = 0; k < EACH; k++)
                found[k] = at[lane + k * LANES];
            const unsigned by = WIDE ? r.panels : few, high = from / by, low = from % by;
            next = WIDE ? (low + 1) * few + high : low * r.panels + (high - 1);
            next_is_free = next < first || next >= end;
            next_item = (next - first) * PARTS + part;
            if (lane == 0 && !next_is_free)
                seen = atomicOr(&r.claimed[next_item / 32], 1u << next_item % 32) >> next_item % 32 & 1;
        } else if (holds && !is_free && lane == 0)
            seen = *(volatile unsigned *)&r.read[item / 32] >> item % 32 & 1;
        __threadfence();
        seen = __shfl_sync(~0u, seen, 0, LANES);
        if (reads && lane == 0)
            atomicOr(&r.read[item / 32], 1u << item % 32);

        const bool writes = holds && (is_free || is_mine || seen);
        if (writes) {
            vec *at = (vec *)(r.slot(to) + part * (PIECE / ELEM_SIZE));
#pragma unroll
            for (int k = 0; k < EACH; k++)
                at[lane + k * LANES] = held[k];
        }
        if (reads) {
#pragma unroll
            for (int k = 0; k < EACH; k++)
                held[k] = found[k];
            to = next;
            is_free = next_is_free;
            is_mine = !next_is_free && !seen;
            holds = true;
        } else if (writes) {
            holds = false;
            is_new = true;
        }
        if (!holds && !open && !is_new && word < r.claimed_words) {
            word += groups;
            is_new = true;
        }
        if (!__any_sync(~0u, holds || word < r.claimed_words))
            break;
    }
}
