// Rectangles in place, in two passes over the bytes (rect_panels.cuh), if PANELS divides the short side. Pass 1 then can put each
// slot where the slot that belongs there has its own place, so that pass 2 swaps pairs.
//
// The long side has PANELS panels, and a place in memory has as many slots as a panel: EVERY for each panel. They are numbered
// (at, of, k): the k-th slot in place `at` that belongs to panel `of`, both from 1. Panels 1 to PANELS have moved up to the places
// of these numbers, so place 0 is empty, and the last one is in scratch memory. What is in (at, of, k) belongs to panel `at`, in
// place `of`. So it swaps with (of, at, k). Only what belongs in place 0 has no partner there. It is where slots of the last panel
// belong: that panel gives it a slot, and it goes to place 0.
//@ kernel   transpose_rect_swap
//@ op       transpose_rect_in_place
//@ param    PANELS   128 101 104 105 108 110 112 114 115 117 119 120 121 125 126 130 132 135 140 144 147 150 156 160 168 175 176 180 182 192 200 208 210 216 220 224 225 240 250 252 256 320 384 400 448 480 500 512
//@ param    TILE     32768 65536 16384
//@ param    THREADS  256 512
//@ param    SIDE     4 2 8
//@ derived  WIDE     cols > rows
//@ derived  VEC      align
//@ let      per      align / elem_size
//@ let      few      min(rows, cols)
//@ let      many     max(rows, cols)
//@ derived  HEIGHT   max(1, many / PANELS / per * per)
//@ derived  EVERY    few / PANELS
//@ derived  SPAN     max(1, min(few, TILE / (HEIGHT * elem_size) / 16 * 16))
//@ derived  LANES    min(32, 1 << log2(HEIGHT * elem_size / VEC))
//@ let      tail     many % HEIGHT
//@ where    few % PANELS = 0 AND many / HEIGHT = PANELS AND rows <> cols
//@ where    few * PANELS < 2147483648 AND EVERY < 65536
//@ where    SIDE * SIDE * LANES <= 1024 AND HEIGHT * elem_size <= 16 * VEC * LANES
//@ where    few * (HEIGHT + tail) * elem_size + 4 * PANELS + 256 <= rows * cols * elem_size / 100
//@ where    SPAN * elem_size >= 64 AND HEIGHT * elem_size BETWEEN 64 AND 4096
//@ block    THREADS
//@ grid     min(1 + few * max(tail, HEIGHT / 16) / THREADS, 4 * sm_count)
//@ args     dst, scratch, i64 many, i64 few
//@ kernel   panels_first
//@ when     NOT WIDE
//@ block    THREADS
//@ grid     (PANELS + (tail > 0)) * ceil_div(few, SPAN)
//@ shared   HEIGHT * (ceil_div(SPAN * elem_size, max(4, elem_size)) | 1) * max(4, elem_size)
//@ args     dst, scratch, i64 many, i64 few
//@ kernel   swap_slots
//@ block    SIDE * SIDE * LANES
//@ grid     ceil_div(PANELS, SIDE) * (ceil_div(PANELS, SIDE) + 1) / 2, few / PANELS
//@ args     dst, scratch, i64 many, i64 few
//@ kernel   panels_last
//@ when     WIDE
//@ block    THREADS
//@ grid     (PANELS + (tail > 0)) * ceil_div(few, SPAN)
//@ shared   HEIGHT * (ceil_div(SPAN * elem_size, max(4, elem_size)) | 1) * max(4, elem_size)
//@ args     dst, scratch, i64 many, i64 few
//@ kernel   put_tails
//@ when     NOT WIDE AND tail > 0
//@ block    THREADS
//@ grid     min(1 + few * tail / THREADS, 4 * sm_count)
//@ args     dst, scratch, i64 many, i64 few
//@ default  PANELS=128 TILE=32768 THREADS=256 SIDE=4

#include "common.cuh"

// Slot (at, of, k).
static __device__ unsigned slot_number(unsigned at, unsigned of, unsigned k) {
    return (at * EVERY + k) * PANELS + of - 1;
}
static __device__ unsigned slot_of(unsigned place, unsigned few, unsigned col) {
    return slot_number(place, col < EVERY ? PANELS : col / EVERY, col % EVERY);
}
#include "rect_panels.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    transpose_rect_swap(elem *dst, unsigned char *scratch, long long many, long long few) {
    prepare(rect(dst, scratch, many, few), 0, many);
}

// A block has SIDE x SIDE pairs, with LANES threads each.
extern "C" __global__ void __launch_bounds__(SIDE *SIDE *LANES)
    swap_slots(elem *dst, unsigned char *scratch, long long many, long long few) {
    typedef vec_of<VEC>::type vec;
    const int vectors = HEIGHT / PER, each = (vectors + LANES - 1) / LANES;
    const rect r(dst, scratch, many, few);
    const unsigned lane = threadIdx.x % LANES, pair = threadIdx.x / LANES, k = blockIdx.y;
    unsigned down = (unsigned)((sqrtf(8.0f * blockIdx.x + 1) - 1) / 2); // blockIdx.x = down * (down + 1) / 2 + across
    down += (down + 1) * (down + 2) / 2 <= blockIdx.x;
    down -= down * (down + 1) / 2 > blockIdx.x;
    const unsigned across = blockIdx.x - down * (down + 1) / 2;
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
