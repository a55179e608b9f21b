// What the templates of `permute` share: each dimension of a tile as constants, and loops over a tile's vectors. A walk goes
// through a tile in the order of the source or of the destination. Everything but the block's tile is known to the compiler.
// A template defines READ_RUN, WRITE_RUN, THREADS, ORDER, PAD, WIDE_LOAD and WIDE_STORE.

#include "permute_problem.cuh"

constexpr permute_tile tile = permute_tile_of(shape, READ_RUN, WRITE_RUN);

struct permute_walk {
    int n, k[PERMUTE_DIMS]; // the dimensions in their order
    int size[PERMUTE_DIMS]; // of a tile, in vectors for the first
    int held[PERMUTE_DIMS]; // elements of shared memory from one index to the next
    int count, vec;         // vectors of a tile, elements of a vector
    int shared;             // elements of shared memory
};

#ifndef HOLD
#define HOLD 0
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
    w.count = 1;
    for (int i = 0; i < t.n; i++) {
        const int k = of_source ? t.order[i] : i;
        if (t.size[k] == 1)
            continue;
        w.k[w.n] = k;
        w.held[w.n] = held[k];
        w.size[w.n] = w.n == 0 ? t.size[k] / w.vec : t.size[k];
        w.count *= w.size[w.n++];
    }
    return w;
}

// Bytes of the vectors that are read and written.
constexpr int wide_load = WIDE_LOAD, wide_store = WIDE_STORE;
// So many elements go to shared memory as one word.
constexpr int packed = wide_load <= 4 && !HOLD ? wide_load / ELEM_SIZE : 1;
constexpr permute_walk reading = permute_walk_of(shape, tile, true, wide_load, PAD, packed);
// With HOLD, permute_write_runs stands in for this walk.
constexpr permute_walk writing = permute_walk_of(shape, tile, false, HOLD ? ELEM_SIZE : wide_store, PAD, packed);
// Shared memory consists of words, or of larger elements.
constexpr int permute_unit = ELEM_SIZE < 4 ? 4 : ELEM_SIZE;
constexpr int permute_units = (reading.shared * ELEM_SIZE + permute_unit - 1) / permute_unit;

static __device__ constexpr long long permute_dst_stride(int k) {
    long long stride = 1;
    for (int i = 0; i < k; i++)
        stride *= shape.dim[i];
    return stride;
}

// Elements of shared memory from one index of a dimension to the next.
static __device__ constexpr int permute_held(int k) {
    for (int i = 0; i < reading.n; i++)
        if (reading.k[i] == k)
            return reading.held[i];
    return 0;
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
typedef permute_integers<permute_is_near(ELEM_SIZE)>::distance permute_bytes; // they need more bits
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

// Does the tile reach beyond the tensor?
template <int I> static __device__ bool permute_is_cut(const permute_start &s) {
    if constexpr (I < tile.n)
        return (shape.dim[I] % tile.size[I] != 0 && s.left[I] < tile.size[I]) || permute_is_cut<I + 1>(s);
    return false;
}

// Where a vector of the tile is, from the tile's first element.
struct permute_place {
    permute_distance src, dst;
    int held;
};

// Adds the part of dimension I of a walk and those behind it. Returns whether the vector is in the tensor.
template <bool READ, int I> static __device__ bool permute_add_place(permute_place &p, unsigned rest, const permute_start &s) {
    if constexpr (I < (READ ? reading.n : writing.n)) {
        constexpr int k = READ ? reading.k[I] : writing.k[I], held = READ ? reading.held[I] : writing.held[I];
        constexpr unsigned size = READ ? reading.size[I] : writing.size[I];
        constexpr int vec = I > 0 ? 1 : READ ? reading.vec : writing.vec;
        constexpr bool last = I == (READ ? reading.n : writing.n) - 1;
        constexpr permute_distance src = shape.stride[k], dst = permute_dst_stride(k);
        constexpr bool whole = shape.dim[k] % tile.size[k] == 0;
        const unsigned next = last ? 0 : permute_div<unsigned, size>(rest);
        const int index = (int)(rest - next * size) * vec;
        p.src += index * src;
        p.dst += index * dst;
        p.held += index * held;
        const bool in = whole || index < s.left[k];
        return permute_add_place<READ, I + 1>(p, next, s) && in;
    }
    return true;
}

template <bool READ> static __device__ bool permute_place_of(permute_place &p, unsigned unit, const permute_start &s) {
    constexpr unsigned count = READ ? reading.count : writing.count;
    p.src = p.dst = p.held = 0;
    return permute_add_place<READ, 0>(p, unit, s) && (count % THREADS == 0 || unit < count);
}

template <int BYTES> union permute_parts {
    typename vec_of<BYTES>::type v;
    elem e[BYTES / ELEM_SIZE];
};

// A vector of the source to its place in shared memory.
static __device__ void permute_hold(elem *held, permute_parts<wide_load> v) {
    if (packed == reading.vec)
        *(typename vec_of<wide_load>::type *)held = v.v;
    else
#pragma unroll
        for (int e = 0; e < reading.vec; e++)
            held[HOLD ? e * reading.held[0] : e] = v.e[e];
}

// A vector of the destination from shared memory.
static __device__ void permute_gather(elem *dst, const elem *held) {
    permute_parts<wide_store> v;
#pragma unroll
    for (int e = 0; e < writing.vec; e++)
        v.e[e] = held[e * writing.held[0]];
    *(typename vec_of<wide_store>::type *)dst = v.v;
}

static __device__ void permute_read(elem *held, const elem *src, const permute_start &s) {
    constexpr int turns = (reading.count + THREADS - 1) / THREADS, batch = turns < permute_batch ? turns : permute_batch;
    permute_parts<wide_load> v[batch];
    permute_place p;
    src += s.src;
    for (int first = 0; first < turns; first += batch) {
#pragma unroll
        for (int i = 0; i < batch; i++)
            if (permute_place_of<true>(p, threadIdx.x + (first + i) * THREADS, s) && first + i < turns)
                v[i].v = *(const typename vec_of<wide_load>::type *)(src + p.src);
#pragma unroll
        for (int i = 0; i < batch; i++)
            if (permute_place_of<true>(p, threadIdx.x + (first + i) * THREADS, s) && first + i < turns)
                permute_hold(held + p.held, v[i]);
    }
}

static __device__ void permute_write(elem *dst, const elem *held, const permute_start &s) {
    constexpr int turns = (writing.count + THREADS - 1) / THREADS;
    permute_place p;
    dst += s.dst;
#pragma unroll(turns < permute_batch ? turns : permute_batch)
    for (int i = 0; i < turns; i++)
        if (permute_place_of<false>(p, threadIdx.x + i * THREADS, s))
            permute_gather(dst + p.dst, held + p.held);
}

// Adds the part of dimension I and those behind it to the place of a run.
template <int I> static __device__ bool permute_add_run(permute_place &p, unsigned rest, const permute_start &s) {
    if constexpr (I < tile.n) {
        constexpr unsigned size = tile.size[I];
        constexpr permute_distance dst = permute_dst_stride(I);
        constexpr bool whole = shape.dim[I] % tile.size[I] == 0;
        const unsigned next = I == tile.n - 1 ? 0 : permute_div<unsigned, size>(rest);
        const int index = (int)(rest - next * size);
        p.dst += index * dst;
        p.held += index * permute_held(I);
        return permute_add_run<I + 1>(p, next, s) && (whole || index < s.left[I]);
    }
    return true;
}

// Shared memory holds the tile in the order of the destination.
static __device__ void permute_write_runs(elem *dst, const elem *held, const permute_start &s) {
    typedef vec_of<wide_store>::type store_type;
    constexpr int vec = wide_store / ELEM_SIZE, length = tile.run_length / vec, count = tile.elements / vec;
    constexpr int turns = (count + THREADS - 1) / THREADS, cut = tile.run_dims > 0 ? tile.run_dims - 1 : 0;
    constexpr bool whole = shape.dim[cut] % tile.size[cut] == 0;
    const int rest = (int)(s.left[cut] < tile.size[cut] ? s.left[cut] : tile.size[cut]);
    const int left = whole ? 0 : rest * (tile.run_length / tile.size[cut]);
    dst += s.dst;
#pragma unroll(turns < permute_batch ? turns : permute_batch)
    for (int i = 0; i < turns; i++) {
        const unsigned at = threadIdx.x + i * THREADS, run = permute_div<unsigned, length>(at);
        const int first = (int)(at - run * length) * vec;
        permute_place p = {0, first, first};
        const bool in = permute_add_run<tile.run_dims>(p, run, s);
        if (in && (whole || first < left) && (count % THREADS == 0 || at < count))
            *(store_type *)(dst + p.dst) = *(const store_type *)(held + p.held);
    }
}

// From source to destination, if both have the same order.
static __device__ void permute_move(elem *dst, const elem *src, const permute_start &s) {
    constexpr int turns = (writing.count + THREADS - 1) / THREADS, batch = turns < permute_batch ? turns : permute_batch;
    typename vec_of<wide_store>::type v[batch];
    permute_place p;
    src += s.src;
    dst += s.dst;
    for (int first = 0; first < turns; first += batch) {
#pragma unroll
        for (int i = 0; i < batch; i++)
            if (permute_place_of<false>(p, threadIdx.x + (first + i) * THREADS, s) && first + i < turns)
                v[i] = *(const typename vec_of<wide_store>::type *)(src + p.src);
#pragma unroll
        for (int i = 0; i < batch; i++)
            if (permute_place_of<false>(p, threadIdx.x + (first + i) * THREADS, s) && first + i < turns)
                *(typename vec_of<wide_store>::type *)(dst + p.dst) = v[i];
    }
}
