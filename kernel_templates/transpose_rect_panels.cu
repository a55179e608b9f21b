// Rectangles in place, in two passes over the bytes (rect_panels.cuh). Slots go to their places along the cycles of their
// permutation. PARTS parts of a slot move on their own. Two bits for each piece say whether a thread has claimed it, and whether
// it was read and may be overwritten.
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
//@ derived  PANELS   max(rows, cols) / HEIGHT
//@ derived  SPAN     min(rows, cols, TILE / (PIECE * PARTS))
//@ derived  FEW      min(rows, cols)
//@ derived  TAIL     max(rows, cols) % HEIGHT
//@ let      items    FEW * PANELS * PARTS
//@ let      bytes    16 + ceil_div(SPAN, 2) * 16 + HEIGHT * (ceil_div(SPAN * elem_size, max(4, elem_size)) | 1) * max(4, elem_size)
//@ where    FEW > 1 AND PANELS > 1 AND items < 2147483648
//@ where    FEW * (HEIGHT + TAIL) * elem_size + items / 4 + 4 * PANELS + 256 <= rows * cols * elem_size / 100
//@ where    PARTS = 1 OR (PIECE = 512 AND SPAN = FEW)
//@ where    SPAN = FEW OR SPAN * elem_size >= 64
//@ where    PIECE / (LANES * align) BETWEEN 1 AND 16 AND (LANES = 32 OR PIECE / (LANES * align) <= 4)
//@ block    THREADS
//@ grid     min(1 + FEW * max(TAIL, HEIGHT / 16) / THREADS, 4 * sm_count)
//@ args     dst, scratch
//@ kernel   panels_first
//@ when     NOT WIDE
//@ block    THREADS
//@ grid     (PANELS + (TAIL > 0)) * ceil_div(FEW, SPAN)
//@ shared   bytes
//@ args     dst, scratch
//@ kernel   move_pieces
//@ block    THREADS
//@ grid     sm_count * (2048 / THREADS)
//@ args     dst, scratch
//@ kernel   panels_last
//@ when     WIDE
//@ block    THREADS
//@ grid     (PANELS + (TAIL > 0)) * ceil_div(FEW, SPAN)
//@ shared   bytes
//@ args     dst, scratch
//@ kernel   put_back
//@ when     NOT WIDE AND TAIL > 0
//@ block    THREADS
//@ grid     min(1 + FEW * TAIL / THREADS, 4 * sm_count)
//@ args     dst, scratch
//@ default  PIECE=128 PARTS=1 TILE=32768 THREADS=256 LANES=8

#include "common.cuh"

static __device__ unsigned slot_of(unsigned place, unsigned col) {
    return place * FEW + col;
}
#define ASIDE 0
static __device__ unsigned aside_of(unsigned i) {
    return i;
}
#include "rect_panels.cuh"

// Pieces, and their bits in scratch memory.
struct claims {
    unsigned pieces, words;
    unsigned *claimed, *read;
    __device__ explicit claims(const rect &r)
        : pieces((unsigned)FEW * PANELS * PARTS), words((pieces + 31) / 32), claimed(r.rest), read(r.rest + words) {}
    __device__ unsigned bits_of(unsigned word) const { // those of the last word may be fewer
        return word + 1 == words && pieces % 32 ? ~(~0u << pieces % 32) : ~0u;
    }
};

extern "C" __global__ void __launch_bounds__(THREADS) transpose_rect_panels(elem *dst, unsigned char *scratch) {
    const rect r(dst, scratch);
    const claims c(r);
    prepare(r, 2ll * c.words);
}

#define PIECE_VECTORS (PIECE / VEC)
#define EACH          ((PIECE_VECTORS + LANES - 1) / LANES)

// LANES threads carry a piece to its place, and take the one that was there with them. They end a walk at a free place, or at
// one that others have claimed, and begin another. `from` is the piece to read now, and `to` the place of the one they hold.
extern "C" __global__ void __launch_bounds__(THREADS) move_pieces(elem *dst, unsigned char *scratch) {
    typedef vec_of<VEC>::type vec;
    const rect r(dst, scratch);
    const claims c(r);
    const unsigned few = FEW, slots = few * PANELS;
    const unsigned first = WIDE ? 0 : few, end = first + slots; // slots that hold something; a free one gets something
    const unsigned lane = threadIdx.x % LANES, groups = gridDim.x * (THREADS / LANES);
    unsigned word = (blockIdx.x * THREADS + threadIdx.x) / LANES, from = 0, to = 0, part = 0, open = 0;
    bool holds = false, is_mine = false, is_free = false, is_new = true; // of `to`: claimed here; nothing is there
    vec held[EACH], found[EACH];
    for (;;) {
        // A new walk begins at the first piece of a word that is not claimed.
        unsigned start = 0;
        bool starts = false;
        if (!holds && word < c.words) {
            if (lane == 0) {
                open = is_new ? ~*(volatile unsigned *)&c.claimed[word] & c.bits_of(word) : open;
                if (open) {
                    const unsigned bit = open & -open;
                    starts = !(atomicOr(&c.claimed[word], bit) & bit);
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
            const unsigned by = WIDE ? PANELS : few, high = from / by, low = from % by;
            next = WIDE ? (low + 1) * few + high : low * PANELS + (high - 1);
            next_is_free = next < first || next >= end;
            next_item = (next - first) * PARTS + part;
            if (lane == 0 && !next_is_free)
                seen = atomicOr(&c.claimed[next_item / 32], 1u << next_item % 32) >> next_item % 32 & 1;
        } else if (holds && !is_free && lane == 0)
            seen = *(volatile unsigned *)&c.read[item / 32] >> item % 32 & 1;
        __threadfence();
        seen = __shfl_sync(~0u, seen, 0, LANES);
        if (reads && lane == 0)
            atomicOr(&c.read[item / 32], 1u << item % 32);

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
        if (!holds && !open && !is_new && word < c.words) {
            word += groups;
            is_new = true;
        }
        if (!__any_sync(~0u, holds || word < c.words))
            break;
    }
}
