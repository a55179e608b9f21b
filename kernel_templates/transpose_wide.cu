// Elements of 4 bytes and more go one by one to a padded tile in shared memory and to the destination. Reads have VL bytes.
// This is for short launches, where each instruction before the first load counts: edges share the path of whole
// tiles, pitches have 32 bits, and all loads are in flight before the first one is waited for.
//@ kernel   transpose_wide
//@ op       transpose
//@ param    TILE_COLS  16 32 64
//@ param    TILE_ROWS  16 32 64
//@ param    VL         4 16
//@ param    THREADS    64 128 256
//@ param    STREAM     0 1
//@ runtime  ORDER      0 1
//@ derived  BATCHED    batch > 1
//@ derived  EDGES      cols % TILE_COLS > 0 OR rows % TILE_ROWS > 0
//@ let      tiles_across ceil_div(cols, TILE_COLS)
//@ let      tiles_down ceil_div(rows, TILE_ROWS)
//@ where    elem_size >= 4 AND align >= elem_size
//@ where    TILE_COLS * TILE_ROWS * elem_size BETWEEN 4096 AND 16384
//@ where    VL = 4 OR (elem_size < 16 AND align >= 16 AND cols * elem_size % 16 = 0)
//@ where    TILE_COLS * TILE_ROWS / THREADS BETWEEN max(2, VL / elem_size) AND 8
//@ where    rows * cols * batch * elem_size <= iif(elem_size = 4, l2_bytes / 4, iif(STREAM = 1, 1, 2) * l2_bytes)
//@ where    batch <= 65535
//@ launch   early
//@ block    THREADS
//@ grid     iif(ORDER = 0, tiles_across, tiles_down), iif(ORDER = 0, tiles_down, tiles_across), batch
//@ shared   (TILE_COLS + 1) * TILE_ROWS * elem_size
//@ args     dst, src, u32 rows, u32 cols, u32 lds, u32 ldd, i32 ORDER, i64 src_stride, i64 dst_stride
//@ default  TILE_COLS=32 TILE_ROWS=32 VL=4 THREADS=256 STREAM=0 ORDER=0

#include "common.cuh"

#define PITCH      (TILE_COLS + 1) // odd, so that a column is read without bank conflicts
#define HELD       (TILE_COLS * TILE_ROWS / THREADS)
#define MICRO_COLS (VL > ELEM_SIZE ? VL / ELEM_SIZE : 1)
#define ACROSS     (TILE_COLS / MICRO_COLS) // threads
#define READ_STEP  (THREADS / ACROSS)
#define WRITE_STEP (THREADS / TILE_ROWS)

typedef vec_of<(VL > ELEM_SIZE ? VL : ELEM_SIZE)>::type vec; // a read
union elems {
    vec v;
    elem e[MICRO_COLS];
};

// An address in global memory. The compiler does not know how it was computed.
typedef unsigned long long address;
#if defined __HOSTCUDA__
#define __cvta_generic_to_global(p) ((address)(p))
#define __cvta_global_to_generic(a) ((void *)(a))
#endif
static __device__ address address_of(const elem *p) {
    address a = __cvta_generic_to_global(p);
    OPAQUE(a);
    return a;
}

// The element `rows` rows below, `pitch` elements each.
static __device__ elem *below(address a, unsigned pitch, unsigned rows) {
    return (elem *)__cvta_global_to_generic(a + (unsigned long long)pitch * (rows * ELEM_SIZE));
}

extern "C" __global__ void __launch_bounds__(THREADS)
    transpose_wide(elem *dst, const elem *src, unsigned rows, unsigned cols, unsigned lds, unsigned ldd, int order,
                   long long src_stride, long long dst_stride) {
    extern __shared__ elem tile[];
    elems in[HELD / MICRO_COLS];
    elem out[HELD];
    const unsigned row0 = block_down(order) * TILE_ROWS, col0 = block_across(order) * TILE_COLS;
#if BATCHED
    src += blockIdx.z * src_stride;
    dst += blockIdx.z * dst_stride;
#endif

    const unsigned down = threadIdx.x / ACROSS, across = threadIdx.x % ACROSS * MICRO_COLS;
    const int height = col0 + across < cols ? (int)(rows - row0 - down) : 0; // from the thread's first element on
    const address from = address_of(src + ((unsigned long long)(row0 + down) * lds + col0 + across));
    wait_for_earlier();
#pragma unroll
    for (int k = 0; k < HELD / MICRO_COLS; k++)
        if (!EDGES || k * READ_STEP < height)
            in[k].v = load((const vec *)below(from, lds, k * READ_STEP));
#pragma unroll
    for (int k = 0; k < HELD / MICRO_COLS; k++)
#pragma unroll
        for (int e = 0; e < MICRO_COLS; e++)
            tile[(k * READ_STEP + down) * PITCH + across + e] = in[k].e[e];
    __syncthreads();

    const unsigned c = threadIdx.x / TILE_ROWS, r = threadIdx.x % TILE_ROWS;
    const int width = row0 + r < rows ? (int)(cols - col0 - c) : 0;
    const address to = address_of(dst + ((unsigned long long)(col0 + c) * ldd + row0 + r));
#pragma unroll
    for (int k = 0; k < HELD; k++)
        out[k] = tile[r * PITCH + k * WRITE_STEP + c];
#pragma unroll
    for (int k = 0; k < HELD; k++)
        if (!EDGES || k * WRITE_STEP < width)
            store(below(to, ldd, k * WRITE_STEP), out[k]);
}
