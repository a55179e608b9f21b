// Shared by the templates that transpose rectangles in place in two passes over the bytes. The long side, `many`, is cut into
// PANELS panels of HEIGHT. With more rows than columns:
//
// 1. A panel, HEIGHT x FEW, is transposed. It becomes FEW slots of HEIGHT elements. Slots lie where the result has them:
//    TAIL elements are left free after each PANELS slots, because the long side is HEIGHT * PANELS + TAIL.
// 2. Slots go to their places. The template does this.
//
// With more columns than rows (WIDE) the same happens backwards. In pass 1, tiles of a panel wait until what they overwrite was
// read. That must be tiles that blocks began earlier, or there could be a deadlock. So panels are taken in order, and each moves
// up by one panel. The first one goes to scratch memory (`spare`), and so do the tails of slots.
//
// A template defines FEW, PANELS, HEIGHT, TAIL, WIDE, VEC, SPAN (columns of a tile) and THREADS, and includes common.cuh. It has a
// function `slot_of(place, col)`: the slot that holds column `col` of the panel that moved to this place. ASIDE slots have the
// numbers from (PANELS + 1) * FEW on. Scratch memory holds them, next to the spare panel. They belong in `aside_of` of 0, 1, 2 ...

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

constexpr long long many = (long long)PANELS * HEIGHT + TAIL;

// The matrix, and what scratch memory has.
struct rect {
    elem *a, *spare, *tails;          // one panel, with ASIDE slots more; the tails of all slots
    unsigned *ticket, *loaded, *rest; // the next tile, tiles of each panel, what else the template has there

    __device__ rect(elem *a, unsigned char *scratch) : a(a) {
        spare = (elem *)(scratch + (16 - past(scratch, 16)) % 16);
        tails = spare + (long long)(FEW + ASIDE) * HEIGHT;
        unsigned char *end = (unsigned char *)(tails + (long long)FEW * TAIL);
        ticket = (unsigned *)(end + (16 - past(end, 16)) % 16);
        loaded = ticket + 1;
        rest = loaded + PANELS + 1;
    }
    // Slots are numbered as they lie. After those of the matrix come those of the spare panel, and those aside.
    __device__ elem *slot(unsigned i) const {
        const unsigned last = (unsigned)FEW * PANELS;
        return i < last ? a + (long long)i * HEIGHT + (long long)(i / PANELS) * TAIL : spare + (long long)(i - last) * HEIGHT;
    }
};

// Moves the tails and the slots aside from scratch memory to the matrix. With WIDE it moves them there.
static __device__ void move_aside(const rect &r) {
    const long long first = (long long)blockIdx.x * THREADS + threadIdx.x, step = (long long)gridDim.x * THREADS;
    for (long long i = first; i < (long long)FEW * TAIL; i += step) {
        elem *at = r.a + i / max(TAIL, 1) * many + (long long)PANELS * HEIGHT + i % max(TAIL, 1);
        *(WIDE ? r.tails + i : at) = *(WIDE ? at : r.tails + i);
    }
    for (long long i = first; i < (long long)ASIDE * HEIGHT; i += step) {
        const unsigned slot = (unsigned)(i / HEIGHT);
        elem *at = r.slot(aside_of(slot)) + i % HEIGHT, *there = r.spare + (long long)FEW * HEIGHT + i;
        *(WIDE ? there : at) = *(WIDE ? at : there);
    }
}

// Clears the ticket, the numbers, and so many words behind them.
static __device__ void prepare(const rect &r, long long words) {
    const long long first = (long long)blockIdx.x * THREADS + threadIdx.x, step = (long long)gridDim.x * THREADS;
    for (long long i = first; i < PANELS + 2 + words; i += step)
        r.ticket[i] = 0;
    if (WIDE)
        move_aside(r);
}

extern "C" __global__ void __launch_bounds__(THREADS) put_back(elem *dst, unsigned char *scratch) {
    move_aside(rect(dst, scratch));
}

// ---- Panels ----

// So many threads have a row of so many vectors. A warp takes 128 bytes of several rows, for the sake of the banks of shared
// memory, or all of shorter rows.
static __device__ constexpr int lanes_for(int vectors) {
    int lanes = 1;
    while (lanes < (VEC < 4 ? 32 : 128 / VEC) && lanes < vectors)
        lanes *= 2;
    return lanes;
}
constexpr int in_flight = 8;

// Between memory, where a row of `length` elements begins at `at(row)`, and shared memory, where its element `i` is at
// row * ROW + i * ELEMENT bytes. A thread loads `in_flight` vectors before it stores them.
template <int ROWS, int LENGTH, int ROW, int ELEMENT, class AT>
static __device__ void read_tile(char *tile, int rows, int length, AT at) {
    constexpr int lanes = lanes_for(LENGTH / PER), step = THREADS / lanes, each = (LENGTH / PER + lanes - 1) / lanes;
    constexpr int most = each < in_flight ? each : in_flight, turns = (ROWS + step - 1) / step;
    constexpr int batch = turns < in_flight / most ? turns : in_flight / most;
    const int first = (int)threadIdx.x % lanes * PER;
#pragma unroll 1
    for (int from = (int)threadIdx.x / lanes; from < rows; from += batch * step)
#pragma unroll 1
        for (int start = first; start < length; start += most * lanes * PER) {
            pack in[batch][most];
#pragma unroll
            for (int b = 0; b < batch; b++) {
                const int row = from + b * step;
                const elem *const a = row < rows ? at(row) : nullptr;
#pragma unroll
                for (int k = 0; k < most; k++) {
                    const int i = start + k * lanes * PER;
                    in[b][k].w[0] = 0;
                    if (row < rows && i < length)
                        in[b][k].v = *(const vec_of<VEC>::type *)(a + i);
                }
            }
#pragma unroll
            for (int b = 0; b < batch; b++)
#pragma unroll
                for (int k = 0; k < most; k++) {
                    const int row = from + b * step, i = start + k * lanes * PER;
                    if (row < rows && i < length)
#pragma unroll
                        for (int e = 0; e < PER; e++)
                            *(elem *)(tile + row * ROW + (i + e) * ELEMENT) = element_of(in[b][k], e);
                }
        }
}

template <int LENGTH, int ROW, int ELEMENT, class AT>
static __device__ void write_tile(const char *tile, int rows, int length, AT at) {
    constexpr int lanes = lanes_for(LENGTH / PER);
#pragma unroll 1
    for (int row = (int)threadIdx.x / lanes; row < rows; row += THREADS / lanes) {
        elem *const a = at(row);
#pragma unroll 4
        for (int i = (int)threadIdx.x % lanes * PER; i < length; i += lanes * PER) {
            pack out;
#pragma unroll
            for (int e = 0; e < PER; e++)
                set_element(out, e, *(const elem *)(tile + row * ROW + (i + e) * ELEMENT));
            *(vec_of<VEC>::type *)(a + i) = out.v;
        }
    }
}

// Waits until all tiles of a panel were read. Blocks that began earlier have them.
static __device__ void wait_for(const volatile unsigned *loaded, unsigned tiles) {
    while (*loaded < tiles)
        __nanosleep(100);
}

static __device__ void move_panels(const rect &r) {
    extern __shared__ uint4 shared[]; // the ticket, where slots begin, and the tile
    elem **const slots = (elem **)(shared + 1);
    char *const tile = (char *)(shared + 1 + (SPAN + 1) / 2);
    if (threadIdx.x == 0)
        shared[0].x = atomicAdd(r.ticket, 1u);
    __syncthreads();
    const unsigned number = shared[0].x;
    const unsigned tiles = (unsigned)((FEW + SPAN - 1) / SPAN), last = TAIL ? PANELS : PANELS - 1;
    if (number >= tiles * (last + 1)) // only if scratch memory was not cleared
        return;
    const unsigned panel = WIDE ? number / tiles : last - number / tiles;
    const long long col = (long long)(number % tiles) * SPAN;
    const bool is_tail = panel == PANELS;
    const int height = is_tail ? TAIL : HEIGHT, width = (int)min(FEW - col, (long long)SPAN);

    const auto row_at = [&](int row) { return r.a + ((long long)panel * HEIGHT + row) * FEW + col; };
    const auto slot_at = [&](int i) { return slots[i]; };
    for (int i = (int)threadIdx.x; i < width; i += THREADS)
        slots[i] = is_tail ? r.tails + (col + i) * TAIL : r.slot(slot_of(panel + 1, (unsigned)col + i));
    __syncthreads();
    if (WIDE)
        read_tile<SPAN, HEIGHT, ELEM_SIZE, PITCH>(tile, width, height, slot_at);
    else
        read_tile<HEIGHT, SPAN, PITCH, ELEM_SIZE>(tile, height, width, row_at);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&r.loaded[panel], 1u);
        for (unsigned k = 1; k <= 2; k++) // a place lies where the rows of two panels were
            if (WIDE ? panel >= k : panel + 1 < PANELS && panel + k <= last)
                wait_for(&r.loaded[WIDE ? panel - k : panel + k], tiles);
        __threadfence();
    }
    __syncthreads();
    if (WIDE)
        write_tile<SPAN, PITCH, ELEM_SIZE>(tile, height, width, row_at);
    else
        write_tile<HEIGHT, ELEM_SIZE, PITCH>(tile, width, height, slot_at);
}

extern "C" __global__ void __launch_bounds__(THREADS) panels_first(elem *dst, unsigned char *scratch) {
    move_panels(rect(dst, scratch));
}
extern "C" __global__ void __launch_bounds__(THREADS) panels_last(elem *dst, unsigned char *scratch) {
    move_panels(rect(dst, scratch));
}
