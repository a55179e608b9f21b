// Takes the tensor as a matrix (permute_tile.cuh): its rows go along the destination, its columns along the source. Tiles of this
// matrix need not follow the dimensions, so few lanes are idle. Shared memory holds a tile as the destination will. A thread reads
// vectors of VL bytes from several rows and turns them in registers. It puts PACK bytes at a time into shared memory. 0 is at most
// 4 bytes. If both sides have the same innermost dimension, runs of the destination are moved at once.
//
//@ kernel    permute_flat
//@ op        permute
//@ param     READ_RUN  32 64 128 256 512
//@ param     WRITE_RUN 32 64 128 256 512
//@ param     THREADS   64 128 256 512
//@ param     VL        0 8 16
//@ param     PACK      0 8 16
//@ let       elements  permute_tile(7, READ_RUN, WRITE_RUN)
//@ let       vec       max(1, VL / elem_size)
//@ where     VL = 0 OR (VL > elem_size AND VL <= permute_tile(8, READ_RUN, WRITE_RUN))
//@ where     PACK = 0 OR (stride0 > 1 AND PACK > elem_size AND PACK <= permute_tile(9, READ_RUN, WRITE_RUN))
//@ where     (stride0 = 1 AND dim0 > 1) OR elements * elem_size <= 32768
//@ where     (READ_RUN = 64 AND WRITE_RUN = 64) OR elements BETWEEN THREADS * vec * max(1, PACK / elem_size) AND THREADS * vec * 16
//@ block     THREADS
//@ grid      permute_tile(6, READ_RUN, WRITE_RUN)
//@ args      dst, src
//@ default   READ_RUN=64 WRITE_RUN=64 THREADS=256 VL=0 PACK=0

#include "common.cuh"
#include "permute_tile.cuh"
#include "permute_problem.cuh"

constexpr permute_plane plane = permute_plane_of(shape, READ_RUN, WRITE_RUN);

// Bytes of the vectors that are read and written.
constexpr int wide_load = permute_vector(VL, plane.inner > 1 || plane.read_max < plane.write_max ? plane.read_max : plane.write_max);
constexpr int wide_store = plane.inner > 1 ? plane.write_max : wide_load;
constexpr int load_vec = wide_load / ELEM_SIZE, store_vec = wide_store / ELEM_SIZE;
// So many rows that lie side by side are packed.
constexpr int pack = plane.inner > 1 ? permute_vector(PACK, plane.pack_max) / ELEM_SIZE : 1;
constexpr int down_vecs = plane.down / load_vec;
constexpr int parts = plane.across / pack * down_vecs, part_turns = (parts + THREADS - 1) / THREADS;
constexpr bool is_cut = plane.outer % plane.down != 0 || plane.inner % plane.across != 0;

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

static __device__ bool flat_has(flat_index across, flat_index down) {
    return !is_cut || (across < plane.inner && down < plane.outer);
}

// Where a thread's part of the tile is: its first row and column.
struct flat_part {
    unsigned across, down;
};
static __device__ flat_part flat_part_of(int turn) {
    const unsigned at = threadIdx.x + turn * THREADS, across = permute_div<unsigned, down_vecs>(at);
    flat_part p = {across * pack, (at - across * down_vecs) * load_vec};
    if (THREADS % down_vecs == 0) { // so that the compiler sees that all parts have the same rows
        const unsigned first = permute_div<unsigned, down_vecs>(threadIdx.x);
        p = {(first + turn * (THREADS / down_vecs)) * pack, (threadIdx.x - first * down_vecs) * load_vec};
    }
    return p;
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
    // Each thread has up to 16 loads in flight.
    constexpr int batch = part_turns * pack <= permute_batch ? part_turns : pack < permute_batch ? permute_batch / pack : 1;
    loaded_parts v[batch][pack];
    for (int first = 0; first < part_turns; first += batch) {
#pragma unroll
        for (int i = 0; i < batch; i++) {
            const flat_part p = flat_part_of(first + i);
            const flat_offset rows = flat_from<plane.split, plane.n>(top + p.down);
#pragma unroll
            for (int k = 0; k < pack; k++) {
                const load_type *from = (const load_type *)(src + (flat_from<0, plane.split>(left + p.across + k) + rows));
                if (flat_has(left + p.across, top + p.down) && (parts % (THREADS * batch) == 0 || threadIdx.x + (first + i) * THREADS < parts))
                    v[i][k].v = *from;
            }
        }
#pragma unroll
        for (int i = 0; i < batch; i++) {
            const flat_part p = flat_part_of(first + i);
            if (!flat_has(left + p.across, top + p.down) || (parts % (THREADS * batch) != 0 && threadIdx.x + (first + i) * THREADS >= parts))
                continue;
            if (plane.inner == 1)
                *(load_type *)(dst + (top + p.down)) = v[i][0].v;
            else
#pragma unroll
                for (int k = 0; k < load_vec; k++)
                    *(pack_type *)(held + (p.down + k) * pitch + p.across) = flat_turn(v[i], k);
        }
    }
    if (plane.inner == 1)
        return;
    __syncthreads();
    constexpr flat_index total = (flat_index)(plane.inner * plane.outer);
#pragma unroll(store_turns < permute_batch ? store_turns : permute_batch)
    for (int i = 0; i < store_turns; i++) {
        const unsigned at = threadIdx.x + i * THREADS;
        const unsigned down = is_run ? 0 : permute_div<unsigned, row_vecs>(at), across = (at - down * row_vecs) * store_vec;
        const flat_index to = (top + down) * (flat_index)plane.inner + left + across;
        if (is_run ? to + store_vec <= total : flat_has(left + across, top + down))
            if (stores % THREADS == 0 || at < stores)
                *(store_type *)(dst + to) = *(const store_type *)(held + (down * pitch + across));
    }
    // The last elements, if they are no whole vector.
    const flat_index begin = top * (flat_index)plane.inner, last = total - total % store_vec + threadIdx.x;
    if (is_run && total % store_vec != 0 && last < total && top + plane.down >= plane.outer)
        dst[last] = held[last - begin];
}
