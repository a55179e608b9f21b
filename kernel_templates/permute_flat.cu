// Takes the tensor as a matrix (permute_tile.cuh): its rows go along the destination, its columns along the source. Tiles of this
// matrix need not follow the dimensions. Shared memory holds a tile as the destination will. A thread reads vectors of VL bytes
// from several columns and turns them in registers. It puts PACK bytes at a time into shared memory. 0 is at most 4 bytes. If both
// sides have the same innermost dimension, runs of the destination are moved at once. With TABLE 1, shared memory also has where
// the tile's columns are in the source, so that each of them is worked out only once.
//
//@ kernel    permute_flat
//@ op        permute
//@ param     READ_RUN  32 64 128 256 512
//@ param     WRITE_RUN 32 64 128 256 512
//@ param     THREADS   64 128 256 512
//@ param     VL        0 8 16
//@ param     PACK      0 8 16
//@ param     TABLE     0 1
//@ let       elements  permute_tile(7, READ_RUN, WRITE_RUN)
//@ let       vec       max(1, VL / elem_size)
//@ let       WIDE_LOAD min(iif(VL > 0, VL, max(4, elem_size)), permute_tile(8, READ_RUN, WRITE_RUN))
//@ let       WIDE_STORE iif(stride0 > 1, permute_tile(12, READ_RUN, WRITE_RUN), WIDE_LOAD)
//@ where     VL = 0 OR (VL > elem_size AND VL <= permute_tile(8, READ_RUN, WRITE_RUN))
//@ where     PACK = 0 OR (stride0 > 1 AND PACK > elem_size AND PACK <= permute_tile(9, READ_RUN, WRITE_RUN))
//@ where     (stride0 = 1 AND dim0 > 1) OR elements * elem_size <= 32768
//@ where     TABLE = 0 OR (stride0 > 1 AND elem_size <= 2)
//@ where     (READ_RUN = 64 AND WRITE_RUN = 64 AND TABLE = 0) OR elements BETWEEN THREADS * vec * max(1, PACK / elem_size) AND THREADS * vec * 16
//@ let       bytes     permute_tile(10, 1, 1) * elem_size
//@ derived   KEEP      cc >= 80 AND bytes > 2 * l2_bytes AND max(VL, elem_size) >= 8
//@ block     THREADS
//@ grid      permute_tile(6, READ_RUN, WRITE_RUN)
//@ args      dst, src
//@ default   READ_RUN=64 WRITE_RUN=64 THREADS=256 VL=0 PACK=0 TABLE=0

#include "common.cuh"
#include "permute_tile.cuh"
#include "permute_problem.cuh"

constexpr permute_plane plane = permute_plane_of(shape, READ_RUN, WRITE_RUN);

// Bytes of the vectors that are read and written.
constexpr int wide_load =
    permute_vector(VL, plane.inner > 1 || plane.read_max < plane.write_max ? plane.read_max : plane.write_max);
constexpr int wide_store = plane.inner > 1 ? plane.write_max : wide_load;
constexpr int load_vec = wide_load / ELEM_SIZE, store_vec = wide_store / ELEM_SIZE;
// So many columns that lie side by side are packed.
constexpr int pack = plane.inner > 1 ? permute_vector(PACK, plane.pack_max) / ELEM_SIZE : 1;
constexpr int down_vecs = plane.down / load_vec;
// Threads read `lanes` vectors of `groups` columns at once, and do that in turns.
constexpr int down_turns = (down_vecs + (plane.inner > 1 ? 32 : THREADS) - 1) / (plane.inner > 1 ? 32 : THREADS);
constexpr int lanes = (down_vecs + down_turns - 1) / down_turns, groups = THREADS / lanes;
constexpr int across_turns = (plane.across / pack + groups - 1) / groups;
// Each thread has up to 16 loads in flight.
constexpr int down_batch = down_turns * pack < permute_batch ? down_turns : permute_batch / pack;
constexpr int across_batch = across_turns * down_batch * pack < permute_batch ? across_turns : permute_batch / (down_batch * pack);
constexpr bool is_cut = plane.outer % plane.down != 0 || plane.inner % plane.across != 0;

// Turns without a column read what is behind the table's entries.
constexpr int table_length = ((across_turns + across_batch - 1) / across_batch * across_batch * groups + 1) * pack;

// Rows of shared memory are padded, to an odd number of units, unless vectors of the destination go across their ends.
constexpr bool is_run = plane.across == plane.inner && plane.across % store_vec != 0;
constexpr int unit = (pack > store_vec ? pack : store_vec) * ELEM_SIZE < 4 ? 4 / ELEM_SIZE : pack > store_vec ? pack : store_vec;
constexpr int pitch = is_run ? plane.across : ((plane.across + unit - 1) / unit | 1) * unit;
constexpr int row_vecs = is_run ? 1 : plane.across / store_vec;
constexpr int stores = is_run ? (plane.down * plane.across + store_vec - 1) / store_vec : plane.down * row_vecs;
constexpr int store_turns = (stores + THREADS - 1) / THREADS;
constexpr int room_units = plane.inner > 1 ? (plane.down * pitch * ELEM_SIZE + 15) / 16 : 1;

typedef permute_counts<(plane.inner * plane.outer < 1ll << 31)>::type flat_index;
typedef permute_counts<(permute_reach() < 1ll << 31)>::type flat_offset;

// Where an index of the dimensions K to END - 1 is in the source.
template <int K, int END> static __device__ flat_offset flat_from(flat_index index) {
    constexpr flat_offset stride = (flat_offset)shape.stride[K];
    constexpr flat_index dim = (flat_index)shape.dim[K];
    if constexpr (K >= END)
        return 0;
    else if constexpr (K == END - 1)
        return (flat_offset)index * stride;
    else {
        const flat_index next = permute_div<flat_index, dim>(index);
        return (flat_offset)(index - next * dim) * stride + flat_from<K + 1, END>(next);
    }
}

// Where an element of the matrix is in the source.
static __device__ flat_offset flat_at(flat_index across, flat_index down) {
    return flat_from<0, plane.split>(across) + flat_from<plane.split, plane.n>(down);
}

static __device__ bool flat_has(flat_index across, flat_index down) {
    return !is_cut || (across < plane.inner && down < plane.outer);
}

typedef vec_of<wide_load>::type load_type;
typedef vec_of<wide_store>::type store_type;
typedef vec_of<pack * ELEM_SIZE>::type pack_type;
union packed_parts {
    pack_type v;
    elem e[pack];
    unsigned w[(pack * ELEM_SIZE + 3) / 4];
};
union loaded_parts {
    load_type v;
    elem e[load_vec];
    unsigned w[(wide_load + 3) / 4];
};

static __device__ bool flat_in_tile(unsigned across, unsigned down) {
    constexpr int reach_down = (down_turns + down_batch - 1) / down_batch * down_batch * lanes * load_vec;
    constexpr int reach_across = (across_turns + across_batch - 1) / across_batch * across_batch * groups * pack;
    return (reach_down == plane.down || down < plane.down) &&
           (reach_across == plane.across || across < plane.across);
}

// With KEEP, once all threads have read. A column of the tile is several runs, as long as the innermost dimension of the source or
// cut by the tile.
static __device__ void flat_release(const elem *src, flat_index left, flat_index top) {
    constexpr flat_index length = (flat_index)(shape.stride[plane.split] == 1 ? shape.dim[plane.split] : 1);
    constexpr unsigned runs = length % plane.down == 0 ? 1 : (unsigned)((plane.down + length - 2) / length + 1);
    constexpr unsigned lines = permute_lines(length < plane.down ? (int)length : plane.down);
    constexpr unsigned count = KEEP ? lines * runs * plane.across : 0;
    const flat_index first = permute_div<flat_index, length>(top), outer = (flat_index)plane.outer;
    const flat_index end = top + plane.down < outer ? top + plane.down : outer;
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < count; i += THREADS) {
        const unsigned run = permute_div<unsigned, lines>(i), across = permute_div<unsigned, runs>(run);
        const flat_index begin = (first + (run - across * runs)) * length, next = begin + length < end ? begin + length : end;
        const flat_index at = (begin < top ? top : begin) + (i - run * lines) * permute_line, down = at < next ? at : next - 1;
        if (begin < end && flat_has(left + across, down))
            permute_let_go(src + flat_at(left + across, down));
    }
}

// Element `i` of each of the vectors.
static __device__ pack_type flat_turn(const loaded_parts *in, int i) {
    packed_parts out;
    if (ELEM_SIZE == 2 && pack > 1) {
#pragma unroll
        for (int k = 0; k < pack / 2; k++)
            out.w[k] = __byte_perm(in[2 * k].w[i / 2], in[2 * k + 1].w[i / 2], i % 2 ? 0x7632 : 0x5410);
    } else if (ELEM_SIZE == 1 && pack > 2) {
        const unsigned pick = 0x0040 + 0x11 * (i % 4);
#pragma unroll
        for (int k = 0; k < pack / 4; k++)
            out.w[k] = __byte_perm(__byte_perm(in[4 * k].w[i / 4], in[4 * k + 1].w[i / 4], pick),
                                   __byte_perm(in[4 * k + 2].w[i / 4], in[4 * k + 3].w[i / 4], pick), 0x5410);
    } else {
#pragma unroll
        for (int k = 0; k < pack; k++)
            out.e[k] = in[k].e[i];
    }
    return out.v;
}

extern "C" __global__ void __launch_bounds__(THREADS, (plane.inner > 1 ? 1024 : 2048) / THREADS)
    permute_flat(elem *__restrict__ dst, const elem *__restrict__ src) {
    __shared__ uint4 room[room_units];
    elem *held = (elem *)room;
    constexpr unsigned n_across = (unsigned)((plane.inner + plane.across - 1) / plane.across);
    const flat_index left = (flat_index)(blockIdx.x % n_across) * plane.across, top = (flat_index)(blockIdx.x / n_across) * plane.down;
    const unsigned group = permute_div<unsigned, lanes>(threadIdx.x), lane = threadIdx.x - group * lanes;
    const bool is_in_group = THREADS % lanes == 0 || group < groups;
    loaded_parts v[across_batch][down_batch][pack];
#if TABLE
    __shared__ flat_offset table[table_length];
#pragma unroll 1
    for (int i = threadIdx.x; i < plane.across; i += THREADS)
        table[i] = flat_from<0, plane.split>(left + i);
    __syncthreads();
#endif
    for (int d0 = 0; d0 < down_turns; d0 += down_batch) {
        flat_offset rows[down_batch];
#pragma unroll
        for (int d = 0; d < down_batch; d++)
            rows[d] = flat_from<plane.split, plane.n>(top + (lane + (d0 + d) * lanes) * load_vec);
        for (int a0 = 0; a0 < across_turns; a0 += across_batch) {
#pragma unroll
            for (int a = 0; a < across_batch; a++) {
                const unsigned across = (group + (a0 + a) * groups) * pack;
#pragma unroll
                for (int k = 0; k < pack; k++) {
#if TABLE
                    const flat_offset cols = table[across + k];
#else
                    const flat_offset cols = flat_from<0, plane.split>(left + across + k);
#endif
#pragma unroll
                    for (int d = 0; d < down_batch; d++) {
                        const unsigned down = (lane + (d0 + d) * lanes) * load_vec;
                        if (is_in_group && flat_in_tile(across, down) && flat_has(left + across, top + down))
                            v[a][d][k].v = fetch((const load_type *)(src + (cols + rows[d])));
                    }
                }
            }
#pragma unroll
            for (int a = 0; a < across_batch; a++)
#pragma unroll
                for (int d = 0; d < down_batch; d++) {
                    const unsigned across = (group + (a0 + a) * groups) * pack;
                    const unsigned down = (lane + (d0 + d) * lanes) * load_vec;
                    if (!is_in_group || !flat_in_tile(across, down))
                        continue;
                    if (plane.inner == 1 && flat_has(0, top + down))
                        *(load_type *)(dst + (top + down)) = v[a][d][0].v;
                    if (plane.inner > 1)
#pragma unroll
                        for (int k = 0; k < load_vec; k++)
                            *(pack_type *)(held + (down + k) * pitch + across) = flat_turn(v[a][d], k);
                }
        }
    }
    if (plane.inner > 1 || KEEP)
        __syncthreads();
    constexpr flat_index total = (flat_index)(plane.inner * plane.outer);
#pragma unroll(store_turns < permute_batch ? store_turns : permute_batch)
    for (int i = 0; i < store_turns && plane.inner > 1; i++) {
        constexpr bool is_even = THREADS % row_vecs == 0; // so that a thread writes the same columns of all rows
        const unsigned at = threadIdx.x + i * THREADS, row = is_even ? permute_div<unsigned, row_vecs>(threadIdx.x) : 0;
        const unsigned down = is_run ? 0 : is_even ? row + i * (THREADS / row_vecs) : permute_div<unsigned, row_vecs>(at);
        const unsigned across = (is_even && !is_run ? threadIdx.x - row * row_vecs : at - down * row_vecs) * store_vec;
        const flat_index to = (top + down) * (flat_index)plane.inner + left + across;
        if (is_run ? to + store_vec <= total : flat_has(left + across, top + down))
            if (stores % THREADS == 0 || at < stores)
                *(store_type *)(dst + to) = *(const store_type *)(held + (down * pitch + across));
    }
    // The last elements, if they are no whole vector.
    const flat_index begin = top * (flat_index)plane.inner, last = total - total % store_vec + threadIdx.x;
    if (is_run && plane.inner > 1 && total % store_vec != 0 && last < total && top + plane.down >= plane.outer)
        dst[last] = held[last - begin];
    flat_release(src, left, top);
}
