// Rectangles in place, in two passes over the bytes (rect_panels.cuh). The long side has PANELS panels. Pass 1 puts slots into an
// order from which pass 2 only swaps pairs of them.
//
// A place in memory has FEW slots. In the end, EVERY of them hold parts of panel 1, as many parts of panel 2, and so on, and REST
// hold others. (at, of, k) is the k-th slot of place `at` that holds a part of panel `of` in the end. Pass 1 moves panel 1 to place
// 1, and so on. Place PANELS is scratch memory, and place 0 is empty. Pass 1 puts into (at, of, k) what must go to (of, at, k), so
// that these two swap. What must go to place 0 has no partner. It waits where a part of the last panel must go. Pass 2 brings that
// part from scratch memory, and moves what waited to place 0. What goes to the REST of each place waits in scratch memory, too.
//
// PANELS is TENS and ONES together. HEIGHT is whole sectors, if rows are aligned. In pass 2, a block has SIDE x SIDE pairs. ORDER 1
// numbers blocks along k first. Where vectors are narrow and few, there are fewer LANES, so that each has more of them in flight.
//@ kernel   transpose_rect_swap
//@ op       transpose_rect_in_place
//@ param    TENS     12 10 11 13 14 15 16 17 18 19 20 21 22 23 24 25 32 38 51
//@ param    ONES     8 0 1 2 3 4 5 6 7 9
//@ param    TILE     32768 65536 16384
//@ param    THREADS  256 512
//@ param    SIDE     4 2 8
//@ param    ORDER    0 1
//@ derived  PANELS   TENS * 10 + ONES
//@ derived  WIDE     cols > rows
//@ derived  VEC      align
//@ derived  FEW      min(rows, cols)
//@ let      per      iif(align = 16, 32, align) / elem_size
//@ let      many     max(rows, cols)
//@ derived  HEIGHT   max(1, many / PANELS / per * per)
//@ derived  SPAN     max(1, min(FEW, TILE / (HEIGHT * elem_size) / 16 * 16))
//@ derived  LANES    min(32, 1 << log2(HEIGHT * elem_size / VEC)) / iif(VEC < 8 AND HEIGHT * elem_size <= 64 * VEC, 2, 1)
//@ derived  TAIL     many % HEIGHT
//@ let      bytes    16 + ceil_div(SPAN, 2) * 16 + HEIGHT * (ceil_div(SPAN * elem_size, max(4, elem_size)) | 1) * max(4, elem_size)
//@ where    many / HEIGHT = PANELS AND FEW >= PANELS AND rows <> cols
//@ where    FEW * PANELS < 2147483648 AND FEW / PANELS < 65536
//@ where    SIDE * SIDE * LANES <= 1024 AND HEIGHT * elem_size <= 16 * VEC * LANES
//@ where    (FEW * (HEIGHT + TAIL) + PANELS * HEIGHT * (FEW % PANELS)) * elem_size + 4 * PANELS + 256 <= rows * cols * elem_size / 100
//@ where    SPAN * elem_size >= 64 AND HEIGHT * elem_size BETWEEN 32 AND 4096
//@ block    THREADS
//@ grid     min(1 + FEW * max(TAIL, HEIGHT / 16) / THREADS, 4 * sm_count)
//@ args     dst, scratch
//@ kernel   panels_first
//@ when     NOT WIDE
//@ block    THREADS
//@ grid     (PANELS + (TAIL > 0)) * ceil_div(FEW, SPAN)
//@ shared   bytes
//@ args     dst, scratch
//@ kernel   swap_slots
//@ block    SIDE * SIDE * LANES
//@ let      pairs    ceil_div(PANELS, SIDE) * (ceil_div(PANELS, SIDE) + 1) / 2
//@ grid     iif(ORDER, FEW / PANELS, pairs), iif(ORDER, pairs, FEW / PANELS)
//@ args     dst, scratch
//@ kernel   panels_last
//@ when     WIDE
//@ block    THREADS
//@ grid     (PANELS + (TAIL > 0)) * ceil_div(FEW, SPAN)
//@ shared   bytes
//@ args     dst, scratch
//@ kernel   put_back
//@ when     NOT WIDE AND TAIL + FEW % PANELS > 0
//@ block    THREADS
//@ grid     min(1 + FEW * max(TAIL, HEIGHT / 16) / THREADS, 4 * sm_count)
//@ args     dst, scratch
//@ default  TENS=12 ONES=8 TILE=32768 THREADS=256 SIDE=2 ORDER=0

#include "common.cuh"

#define EVERY (FEW / PANELS)
#define REST  (FEW % PANELS)

// Slot (at, of, k).
static __device__ unsigned slot_number(unsigned at, unsigned of, unsigned k) {
    return at * FEW + (of - 1 + PANELS - at * REST % PANELS) % PANELS + k * PANELS;
}
static __device__ unsigned slot_of(unsigned place, unsigned col) {
    const unsigned end = col * PANELS + place - 1, at = end / FEW, k = end % FEW / PANELS; // where it belongs
    if (k < EVERY)
        return slot_number(place, at ? at : PANELS, k);
    return (PANELS + 1u) * FEW + at * REST + end % FEW - EVERY * PANELS;
}
#define ASIDE (PANELS * REST)
// Where a slot aside belongs.
static __device__ unsigned aside_of(unsigned i) {
    return i / max(REST, 1) * FEW + EVERY * PANELS + i % max(REST, 1);
}
#include "rect_panels.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) transpose_rect_swap(elem *dst, unsigned char *scratch) {
    prepare(rect(dst, scratch), 0);
}

// A block has SIDE x SIDE pairs, with LANES threads each.
extern "C" __global__ void __launch_bounds__(SIDE *SIDE *LANES) swap_slots(elem *dst, unsigned char *scratch) {
    typedef vec_of<VEC>::type vec;
    const int vectors = HEIGHT / PER, each = (vectors + LANES - 1) / LANES;
    const rect r(dst, scratch);
    const unsigned lane = threadIdx.x % LANES, pair = threadIdx.x / LANES;
    const unsigned k = ORDER ? blockIdx.x : blockIdx.y, at = ORDER ? blockIdx.y : blockIdx.x;
    unsigned down = (unsigned)((sqrtf(8.0f * at + 1) - 1) / 2); // at = down * (down + 1) / 2 + across
    down += (down + 1) * (down + 2) / 2 <= at;
    down -= down * (down + 1) / 2 > at;
    const unsigned across = at - down * (down + 1) / 2;
    const unsigned one = across * SIDE + pair / SIDE + 1, other = down * SIDE + pair % SIDE + 1;
    const bool is_last = other == PANELS;
    if (one > other || other > PANELS || (one == other && !is_last))
        return;
    vec *const there = (vec *)r.slot(slot_number(one, other, k));
    vec *const here = (vec *)r.slot(slot_number(other, one, k));
    vec *const empty = (vec *)r.slot(slot_number(0, one, k));
    vec *const from = is_last && WIDE ? empty : here, *const to = is_last && !WIDE ? empty : here;
    vec a[each], b[each];
#pragma unroll
    for (int i = 0; i < each; i++)
        if (vectors % LANES == 0 || lane + i * LANES < vectors) {
            a[i] = there[lane + i * LANES];
            b[i] = from[lane + i * LANES];
        }
#pragma unroll
    for (int i = 0; i < each; i++)
        if (vectors % LANES == 0 || lane + i * LANES < vectors) {
            if (one != other || WIDE)
                there[lane + i * LANES] = b[i];
            if (one != other || !WIDE)
                to[lane + i * LANES] = a[i];
        }
}
