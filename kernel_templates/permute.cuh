// Templates of `permute` share the dimensions of a tile as constants, and loops over a tile's vectors. A walk goes through a tile
// in the order of the source or of the destination. Everything but the block's tile is known to the compiler.
//
// A template defines READ_RUN, WRITE_RUN, THREADS, ORDER, PAD, WIDE_LOAD and WIDE_STORE. HOLD and SPLIT are 0 otherwise
// (permute_tiled.cu). With MOVE 1, vectors do not go through shared memory.

#include "permute_problem.cuh"

constexpr permute_tile tile = permute_tile_of(shape, READ_RUN, WRITE_RUN);

struct permute_walk {
    int n, k[PERMUTE_DIMS];                           // the dimensions in their order
    int size[PERMUTE_DIMS];                           // of a tile, in vectors for the first
    long long src[PERMUTE_DIMS], dst[PERMUTE_DIMS];   // elements from one index to the next
    int held[PERMUTE_DIMS], each;                     // the same in shared memory, and from one element of a vector to the next
    int vec;                                          // elements of a vector
    int rows;                                         // elements for one index of k[0]: 1 but for a run (HOLD)
    int shared;                                       // elements of shared memory
};

#ifndef HOLD
#define HOLD 0
#endif
#ifndef MOVE
#define MOVE 0
#endif
#ifndef SPLIT
#define SPLIT 0
#endif
// Shared memory holds a tile in the order of the source. The gap stands where the order of the destination first differs. With HOLD
// it has the order of the destination, and a gap behind each run.
static __device__ constexpr permute_walk permute_walk_of(permute_shape s, permute_tile t, bool of_source, int bytes, int pad,
                                                         int packed) {
    permute_walk w = {};
    int held[PERMUTE_DIMS] = {}, same = 0;
    while (same < t.n && (t.order[same] == same || t.size[same] == 1))
        same++;
    w.shared = 1;
    const int bytes_held = t.run_max < 4 ? 4 : t.run_max, unit = bytes_held / s.elem_size;
    for (int k = 0; k < t.n && HOLD; k++) {
        if (k == t.run_dims)
            w.shared = ((w.shared + unit - 1) / unit | 1) * unit;
        held[k] = w.shared;
        w.shared *= t.size[k];
    }
    for (int i = 0; i < t.n && !HOLD; i++) {
        const int k = t.order[i];
        if (k == same && pad && w.shared > 1)
            w.shared = (w.shared / packed | 1) * packed;
        held[k] = w.shared;
        w.shared *= t.size[k];
    }
    w.vec = bytes / s.elem_size;
    w.rows = w.each = 1;
    long long dense[PERMUTE_DIMS + 1] = {1};
    for (int k = 0; k < t.n; k++)
        dense[k + 1] = dense[k] * s.dim[k];
    if (HOLD && !of_source && t.run_dims > 0) { // a run is one dimension
        w.k[0] = t.run_dims - 1;
        w.rows = t.run_length / t.size[w.k[0]];
        w.size[0] = t.run_length / w.vec;
        w.dst[0] = w.held[0] = w.vec;
        w.n = 1;
    }
    for (int i = w.n ? t.run_dims : 0; i < t.n; i++) {
        const int k = of_source ? t.order[i] : i, step = w.n == 0 ? w.vec : 1;
        if (t.size[k] == 1)
            continue;
        if (w.n == 0)
            w.each = held[k];
        w.k[w.n] = k;
        w.size[w.n] = t.size[k] / step;
        w.src[w.n] = s.stride[k] * step;
        w.dst[w.n] = dense[k] * step;
        w.held[w.n++] = held[k] * step;
    }
    return w;
}

// Bytes of the vectors that are read and written.
constexpr int wide_load = WIDE_LOAD, wide_store = WIDE_STORE;
// So many elements go to shared memory as one word.
constexpr int packed = wide_load <= 4 && !HOLD ? wide_load / ELEM_SIZE : 1;
constexpr permute_walk reading = permute_walk_of(shape, tile, true, wide_load, PAD, packed);
constexpr permute_walk writing = permute_walk_of(shape, tile, false, wide_store, PAD, packed);
// Shared memory consists of words, or of larger elements.
constexpr int permute_unit = ELEM_SIZE < 4 ? 4 : ELEM_SIZE;
constexpr int permute_units = (reading.shared * ELEM_SIZE + permute_unit - 1) / permute_unit;

static __device__ constexpr long long permute_dst_stride(int k) {
    long long stride = 1;
    for (int i = 0; i < k; i++)
        stride *= shape.dim[i];
    return stride;
}

// Do the distances within a tile fit 31 bits, in elements or in bytes?
static __device__ constexpr bool permute_is_near(int unit) {
    long long src = 0, dst = 0;
    for (int k = 0; k < tile.n; k++) {
        src += (tile.size[k] - 1) * shape.stride[k];
        dst += (tile.size[k] - 1) * permute_dst_stride(k);
    }
    return (src > dst ? src : dst) * unit < (1ll << 31) - 8;
}

template <bool> struct permute_integers { typedef long long distance; };
template <> struct permute_integers<true> { typedef int distance; };
typedef permute_integers<permute_is_near(1)>::distance permute_distance;
typedef permute_counts<(tile.tiles < 1ll << 31)>::type permute_count;

// The first element of a block's tile, and how far the tensor reaches from it.
struct permute_start {
    long long src, dst;
    long long left[PERMUTE_DIMS];
};

template <int I> static __device__ void permute_add_start(permute_start &s, permute_count rest) {
    if constexpr (I < tile.n) {
        constexpr int k = ORDER ? I : tile.order[I];
        constexpr permute_count tiles = (shape.dim[k] + tile.size[k] - 1) / tile.size[k];
        const permute_count next = I == tile.n - 1 ? 0 : permute_div<permute_count, tiles>(rest);
        const long long first = (long long)(rest - next * tiles) * tile.size[k];
        constexpr long long src = shape.stride[k], dst = permute_dst_stride(k), dim = shape.dim[k];
        s.src += first * src;
        s.dst += first * dst;
        s.left[k] = dim - first;
        permute_add_start<I + 1>(s, next);
    }
}

static __device__ permute_start permute_start_of(long long at) {
    permute_start s;
    s.src = s.dst = 0;
    permute_add_start<0>(s, (permute_count)at);
    return s;
}

// Where a vector of the tile is, from the tile's first element. Or what a part of its indices add to that.
struct permute_place {
    permute_distance src, dst;
    int held;
    int left; // of an entry: so many indices from its first one on are in the tensor
};

// How many indices of dimension I of a walk are in the tensor. Here and below, members become constants of their own: that takes 6 %
// less time to compile.
template <bool READ, int I> static __device__ int permute_left(const permute_start &s) {
    constexpr permute_walk w = READ ? reading : writing;
    constexpr int k = w.k[I], size = tile.size[k], all = w.size[I], rows = w.rows, vec = w.vec;
    constexpr bool even = shape.dim[k] % size == 0;
    if (even || s.left[k] >= size)
        return all;
    return I == 0 ? (int)s.left[k] * rows / vec : (int)s.left[k];
}

// Adds what the dimensions I to END - 1 of a walk add. Returns whether their indices are in the tensor.
template <bool READ, int I, int END>
static __device__ bool permute_add_place(permute_place &p, unsigned rest, const permute_start &s) {
    if constexpr (I < END) {
        constexpr permute_walk w = READ ? reading : writing;
        constexpr permute_distance src = w.src[I], dst = w.dst[I];
        constexpr int held = w.held[I], size = w.size[I];
        const unsigned next = I == END - 1 ? 0 : permute_div<unsigned, size>(rest);
        const int index = (int)(rest - next * size);
        p.src += index * src;
        p.dst += index * dst;
        p.held += index * held;
        const bool in = index < permute_left<READ, I>(s);
        return permute_add_place<READ, I + 1, END>(p, next, s) && in;
    }
    return true;
}

// The lanes of a group have all indices before dimension `dim`, and `chunk` of this one. An entry is one choice of all others. A
// tile of 4 x 60 x 7 vectors may have groups of 4 x 10 lanes, and 6 x 7 entries. Without SPLIT, a group is one lane.
struct permute_split {
    int dim, before, chunk, chunks; // indices before `dim`, and chunks of it
    int lanes, groups, entries, turns;
};
static __device__ constexpr permute_split permute_split_of(permute_walk w) {
    permute_split s = {0, 1, 1, 1, 0, 0, 1};
    const int most = SPLIT ? THREADS / 4 : 1; // so that few threads are in no group
    while (s.dim < w.n && s.before * w.size[s.dim] <= most)
        s.before *= w.size[s.dim++];
    if (s.dim < w.n) {
        s.chunk = permute_chunk(w.size[s.dim], most / s.before, 1 << 30);
        for (int even = s.chunk; even * s.before >= 16; even--)
            if (w.size[s.dim] % even == 0) {
                s.chunk = even;
                break;
            }
        s.chunks = s.entries = (w.size[s.dim] + s.chunk - 1) / s.chunk;
    }
    for (int i = s.dim + 1; i < w.n; i++)
        s.entries *= w.size[i];
    s.lanes = s.before * s.chunk;
    s.groups = THREADS / s.lanes;
    s.turns = (s.entries + s.groups - 1) / s.groups;
    return s;
}
template <bool READ> static __device__ constexpr permute_split permute_split_for() {
    return permute_split_of(READ ? reading : writing);
}

// What an entry adds to the place of a thread's first vector.
template <bool READ> static __device__ permute_place permute_entry_of(unsigned at, const permute_start &s) {
    constexpr permute_walk w = READ ? reading : writing;
    constexpr permute_split split = permute_split_for<READ>();
    constexpr int entries = split.entries;
    permute_place p = {0, 0, 0, at < entries};
    if constexpr (split.dim < w.n) {
        constexpr permute_distance src = w.src[split.dim], dst = w.dst[split.dim];
        constexpr int held = w.held[split.dim], chunks = split.chunks, chunk = split.chunk;
        const unsigned next = split.dim == w.n - 1 ? 0 : permute_div<unsigned, chunks>(at);
        const int first = (int)(at - next * chunks) * chunk;
        p = {first * src, first * dst, first * held, 0};
        const bool in = permute_add_place<READ, split.dim + 1, w.n>(p, next, s) && at < entries;
        p.left = in ? permute_left<READ, split.dim>(s) - first : 0;
    }
    return p;
}

// What an entry adds to the two addresses of a thread's first vector.
struct permute_entry {
    permute_distance from, to;
};

// Does the tile reach beyond the tensor?
template <int I> static __device__ bool permute_is_cut(const permute_start &s) {
    if constexpr (I < tile.n)
        return (shape.dim[I] % tile.size[I] != 0 && s.left[I] < tile.size[I]) || permute_is_cut<I + 1>(s);
    return false;
}

// A thread's part of all its places.
struct permute_lane {
    permute_place p;
    int group, index; // index: within the chunk
    bool in;
};
template <bool READ> static __device__ permute_lane permute_lane_of(const permute_start &s) {
    constexpr permute_walk w = READ ? reading : writing;
    constexpr permute_split split = permute_split_for<READ>();
    const unsigned group = permute_div<unsigned, split.lanes>(threadIdx.x), lane = threadIdx.x - group * split.lanes;
    const unsigned index = permute_div<unsigned, split.before>(lane);
    permute_lane l = {{0, 0, 0, 0}, (int)group, (int)index, THREADS % split.lanes == 0 || group < split.groups};
    l.in = permute_add_place<READ, 0, split.dim>(l.p, lane - index * split.before, s) && l.in;
    if constexpr (split.dim < w.n) {
        l.p.src += (int)index * (permute_distance)w.src[split.dim];
        l.p.dst += (int)index * (permute_distance)w.dst[split.dim];
        l.p.held += (int)index * w.held[split.dim];
    }
    return l;
}

// Returns whether a thread has a vector in this turn, in the tile and in the tensor.
template <bool READ, bool CUT>
static __device__ bool permute_next(permute_entry &e, int turn, const permute_lane &l, const permute_start &s) {
    constexpr permute_walk w = READ ? reading : writing;
    constexpr permute_split split = permute_split_for<READ>();
    constexpr bool even = split.dim == w.n || w.size[split.dim] % split.chunk == 0;
    constexpr int groups = split.groups, entries = split.entries;
    const int at = l.group + turn * groups;
    const permute_place p = permute_entry_of<READ>(at, s);
    e = {READ || MOVE ? p.src : p.held, READ ? p.held : p.dst};
    return CUT || !even ? l.index < p.left : (turn + 1) * groups <= entries || at < entries;
}

// How far a thread's first vector is, in elements. The compiler would add the parts of its address anew for each vector.
static __device__ long long permute_first(long long tile_at, long long lane_at) {
    long long at = tile_at + lane_at;
    OPAQUE(at);
    return at;
}

template <int BYTES> union permute_parts {
    typename vec_of<BYTES>::type v;
    elem e[BYTES / ELEM_SIZE];
};

// A vector of the source to its place in shared memory, or in the destination.
static __device__ void permute_put(elem *to, permute_parts<wide_load> v) {
    constexpr int each = reading.each, vec = reading.vec;
    if (MOVE || packed == reading.vec)
        *(typename vec_of<wide_load>::type *)to = v.v;
    else
#pragma unroll
        for (int e = 0; e < vec; e++)
            to[HOLD ? e * each : e] = v.e[e];
}

// A vector of the destination from shared memory.
static __device__ typename vec_of<wide_store>::type permute_gather(const elem *held) {
    constexpr int each = writing.each, vec = writing.vec;
    permute_parts<wide_store> v;
    if (HOLD)
        return *(const typename vec_of<wide_store>::type *)held;
#pragma unroll
    for (int e = 0; e < vec; e++)
        v.e[e] = held[e * each];
    return v.v;
}

// From the source to shared memory; with MOVE, to the destination in its order. Vectors of both sides then are the same.
template <bool CUT> static __device__ void permute_read(elem *to, const elem *src, const permute_start &s) {
    constexpr int most = MOVE && wide_load >= 4 ? permute_batch / 2 : permute_batch; // rows need fewer registers
    constexpr int turns = permute_split_for<!MOVE>().turns, batch = turns < most ? turns : most;
    const permute_lane l = permute_lane_of<!MOVE>(s);
    if (!l.in)
        return;
    const elem *from = src + permute_first(s.src, l.p.src);
    to += MOVE ? permute_first(s.dst, l.p.dst) : l.p.held;
#pragma unroll 1
    for (int first = 0; first < turns; first += batch) {
        permute_parts<wide_load> v[batch];
        permute_entry e[batch];
        bool is[batch];
#pragma unroll
        for (int i = 0; i < batch; i++) {
            is[i] = first + i < turns && permute_next<!MOVE, CUT>(e[i], first + i, l, s);
            if (is[i])
                v[i].v = fetch((const typename vec_of<wide_load>::type *)(from + e[i].from));
        }
#pragma unroll
        for (int i = 0; i < batch; i++)
            if (is[i])
                permute_put(to + e[i].to, v[i]);
    }
}

template <bool CUT> static __device__ void permute_write(elem *dst, const elem *held, const permute_start &s) {
    constexpr int turns = permute_split_for<false>().turns;
    const permute_lane l = permute_lane_of<false>(s);
    if (!l.in)
        return;
    elem *to = dst + permute_first(s.dst, l.p.dst);
    held += l.p.held;
#pragma unroll(turns < permute_batch ? turns : permute_batch)
    for (int i = 0; i < turns; i++) {
        permute_entry e;
        if (permute_next<false, CUT>(e, i, l, s))
            *(typename vec_of<wide_store>::type *)(to + e.to) = permute_gather(held + e.from);
    }
}

// The runs of a tile in the source: so many dimensions of `reading`, and so many elements.
struct permute_runs {
    int dims, length;
};
static __device__ constexpr permute_runs permute_runs_of() {
    permute_runs r = {0, 1};
    for (long long dense = 1; r.dims < reading.n && shape.stride[reading.k[r.dims]] == dense; r.dims++) {
        const int k = reading.k[r.dims];
        r.length *= tile.size[k];
        dense = tile.size[k] < shape.dim[k] ? 0 : dense * shape.dim[k];
    }
    return r;
}

// With KEEP, once all threads of the block have read.
static __device__ void permute_release(const elem *src, const permute_start &s) {
    constexpr permute_runs runs = permute_runs_of();
    constexpr unsigned lines = permute_lines(runs.length), count = KEEP ? lines * (tile.elements / runs.length) : 0;
    constexpr int cut = runs.dims > 0 ? reading.k[runs.dims - 1] : 0;
    constexpr bool whole = runs.dims == 0 || shape.dim[cut] % tile.size[cut] == 0;
    const int length = whole || s.left[cut] >= tile.size[cut] ? runs.length : (int)s.left[cut] * (runs.length / tile.size[cut]);
    src += s.src;
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < count; i += THREADS) {
        const unsigned run = permute_div<unsigned, lines>(i);
        const int at = (int)(i - run * lines) * permute_line;
        permute_place p = {0, 0, 0, 0};
        if (permute_add_place<true, runs.dims, reading.n>(p, run, s))
            permute_let_go(src + p.src + (at < length ? at : length - 1));
    }
}
