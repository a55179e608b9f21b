// As permute_tiled, but a block goes through several TILES. Where a thread reads and writes within a tile is the same in each of
// them, so it is worked out once. The next tile is loaded into registers while this one is stored. Tiles that reach beyond the
// tensor go the way of permute_tiled. VL and VS are bytes of the vectors that are loaded and stored, 0 at most 4.
//
//@ kernel    permute_steady
//@ op        permute
//@ param     READ_RUN  64 128 256 512
//@ param     WRITE_RUN 64 128 256 512 1024
//@ param     THREADS   256 512
//@ param     VL        0 16
//@ param     VS        0 16
//@ param     TILES     2 8
//@ param     ORDER     0 1
//@ let       elements  permute_tile(1, READ_RUN, WRITE_RUN)
//@ let       loaded    max(1, VL / elem_size)
//@ let       stored    max(1, VS / elem_size)
//@ where     stride0 > 1 OR dim0 * elem_size < 128
//@ where     VL = 0 OR (loaded > 1 AND VL <= permute_tile(2, READ_RUN, WRITE_RUN))
//@ where     VS = 0 OR (stored > 1 AND VS <= permute_tile(3, READ_RUN, WRITE_RUN))
//@ where     (elements + elements / 2) * elem_size <= 49152
//@ where     (READ_RUN = 256 AND WRITE_RUN = 128 AND elements <= THREADS * 64) OR elements BETWEEN THREADS * max(4, loaded, stored) AND THREADS * 16 * min(loaded, stored)
//@ block     THREADS
//@ grid      min(ceil_div(permute_tile(0, READ_RUN, WRITE_RUN), TILES), 2147483647)
//@ args      dst, src
//@ default   READ_RUN=256 WRITE_RUN=128 THREADS=256 VL=0 VS=0 TILES=2 ORDER=0

#define PAD        1
#define WIDE_LOAD  permute_vector(VL, tile.read_max)
#define WIDE_STORE permute_vector(VS, tile.write_max)
#include "common.cuh"
#include "permute_tile.cuh"
#include "permute.cuh"

constexpr int loads = (reading.count + THREADS - 1) / THREADS, stores = (writing.count + THREADS - 1) / THREADS;

static __device__ bool permute_has(int count, int turn) {
    return (turn + 1) * THREADS <= count || (int)threadIdx.x + turn * THREADS < count;
}

// Where a thread's vector is in each whole tile.
struct permute_spot {
    permute_bytes at; // from the tile's first byte, in the source or the destination
    int held;
};

template <bool READ> static __device__ void permute_spots(permute_spot *spots, int turns) {
    permute_start whole;
    for (int k = 0; k < tile.n; k++)
        whole.left[k] = tile.size[k];
#pragma unroll
    for (int i = 0; i < turns; i++) {
        permute_place p;
        permute_place_of<READ>(p, threadIdx.x + i * THREADS, whole);
        spots[i] = {(permute_bytes)(READ ? p.src : p.dst) * ELEM_SIZE, p.held};
    }
}

// From the source to registers, from there to shared memory, and from there to the destination.
static __device__ void permute_fetch(permute_parts<wide_load> *v, const elem *src, long long first, const permute_spot *from) {
    first *= ELEM_SIZE;
    OPAQUE(first);
    const char *p = (const char *)src + first;
#pragma unroll
    for (int i = 0; i < loads; i++)
        if (permute_has(reading.count, i))
            v[i].v = *(const typename vec_of<wide_load>::type *)(p + from[i].at);
}

static __device__ void permute_keep(elem *held, const permute_parts<wide_load> *v, const permute_spot *from) {
#pragma unroll
    for (int i = 0; i < loads; i++)
        if (permute_has(reading.count, i))
            permute_hold(held + from[i].held, v[i]);
}

static __device__ void permute_store(elem *dst, long long first, const elem *held, const permute_spot *to) {
    first *= ELEM_SIZE;
    OPAQUE(first);
    char *p = (char *)dst + first;
#pragma unroll
    for (int i = 0; i < stores; i++)
        if (permute_has(writing.count, i))
            permute_gather((elem *)(p + to[i].at), held + to[i].held);
}

extern "C" __global__ void __launch_bounds__(THREADS) permute_steady(elem *__restrict__ dst, const elem *__restrict__ src) {
    __shared__ vec_of<permute_unit>::type room[permute_units];
    elem *held = (elem *)room;
    permute_spot from[loads], to[stores];
    permute_parts<wide_load> v[loads];
    long long at = blockIdx.x;
    permute_start next = permute_start_of(at);
    permute_spots<true>(from, loads);
    permute_spots<false>(to, stores);
    if (!permute_is_cut<0>(next))
        permute_fetch(v, src, next.src, from);
    for (bool more = true; more;) {
        const permute_start now = next;
        const bool cut = permute_is_cut<0>(now);
        if (cut)
            permute_read(held, src, now);
        else
            permute_keep(held, v, from);
        __syncthreads();
        at += gridDim.x;
        more = at < tile.tiles;
        if (more) {
            next = permute_start_of(at);
            if (!permute_is_cut<0>(next))
                permute_fetch(v, src, next.src, from);
        }
        if (cut)
            permute_write(dst, held, now);
        else
            permute_store(dst, now.dst, held, to);
        __syncthreads();
    }
}
