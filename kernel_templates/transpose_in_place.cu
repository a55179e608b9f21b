// A square matrix onto itself: a block takes a tile and its mirror image, and writes each where the other was. Tiles have RUN
// bytes a side and are turned in registers, V bytes an access. Where rows are no whole lines, two tiles share some: with LINES
// the first load of a line brings all of it to the L2 cache.
//@ kernel   transpose_in_place
//@ op       transpose_in_place
//@ param    RUN       64 128 256 512
//@ param    V         4 8 16
//@ param    THREADS   64 128 256 512
//@ param    STREAM    0 1 2
//@ param    LINES     0 128 256
//@ derived  KEEP      STREAM = 2
//@ derived  EDGES     rows * elem_size % RUN > 0
//@ derived  BATCHED   batch > 1
//@ where    V >= elem_size AND V <= align
//@ where    (RUN / V) * (RUN / V) % THREADS = 0 AND THREADS % (RUN / V) = 0
//@ where    RUN * RUN / elem_size / THREADS BETWEEN 4 AND 128 AND V * V / elem_size <= 64
//@ where    STREAM = 0 OR iif(rows * cols * batch * elem_size <= l2_bytes, STREAM = 1, KEEP AND cc >= 80)
//@ where    LINES = 0 OR (STREAM <> 1 AND cc >= 80 AND ldd * elem_size % 128 > 0)
//@ launch   early
//@ block    THREADS
//@ let      side ceil_div(rows * elem_size, RUN)
//@ grid     side | 1, (side + 1) / 2, min(batch, 65535)
//@ shared   2 * RUN * RUN / elem_size
//@ args     dst, i64 rows, i64 ldd, i32 batch, i64 dst_stride
//@ default  RUN=128 V=4 THREADS=256 STREAM=0 LINES=0

#define VL        V
#define VS        V
#define READ_RUN  RUN
#define WRITE_RUN RUN
#define PREFETCH  LINES
#include "micro_tile.cuh"
#include "in_place.cuh"

#define TILE TILE_COLS
#define SIDE ACROSS // micro-tiles on a side of a tile: also the vectors of a shared row

typedef vec_of<V>::type vec;

static __device__ void read_tile(words_of<V> (*in)[MICRO_ROWS], const elem *a, long long ld) {
    const int t = threadIdx.x;
    a += (long long)(t / SIDE * MICRO_ROWS) * ld + t % SIDE * MICRO_COLS;
    EACH_VECTOR read_over(in[m][r].v, true, (const vec *)(a + (m * BETWEEN + r) * ld));
}

static __device__ void put_tile(vec *tile, words_of<V> (*in)[MICRO_ROWS]) {
    const int t = threadIdx.x;
#pragma unroll
    for (int m = 0; m < MICRO_TILES; m++)
        put(tile, in[m], t % SIDE, t / SIDE + m * (THREADS / SIDE), SIDE);
}

static __device__ void write_tile(elem *a, long long ld, const vec *tile) {
    const int t = threadIdx.x;
    a += (long long)(t / SIDE) * ld + t % SIDE * MICRO_ROWS;
#pragma unroll
    for (int k = 0; k < VECTORS; k++)
        store_over((vec *)(a + k * (THREADS / SIDE) * ld), tile[place(t / SIDE + k * (THREADS / SIDE), t % SIDE, SIDE)]);
}

// `upper` has `height` rows and `width` columns. Only `lower` can have the matrix's last row.
static __device__ void swap_edge_tiles(elem *upper, elem *lower, long long ld, int height, int width, vec *tiles) {
#pragma unroll 1
    for (int k = threadIdx.x; k < 2 * SIDE * SIDE; k += THREADS) {
        const bool low = k >= SIDE * SIDE;
        const int at = k % (SIDE * SIDE);
        put_edge(tiles + low * TILE * SIDE, low ? lower : upper, ld, low ? width : height, low ? height : width,
                 low || upper == lower, at % SIDE, at / SIDE, SIDE);
    }
    __syncthreads();
#pragma unroll 1
    for (int k = threadIdx.x; k < 2 * TILE * SIDE; k += THREADS) {
        const bool low = k < TILE * SIDE; // written from the other's tile
        const int r = k % (TILE * SIDE) / SIDE, u = k % SIDE, left = (low ? height : width) - u * MICRO_ROWS;
        if (r < (low ? width : height) && left > 0)
            store_edge((low ? lower : upper) + r * ld + u * MICRO_ROWS, tiles[!low * TILE * SIDE + place(r, u, SIDE)], left);
    }
}

static __device__ void swap_whole_tiles(elem *upper, elem *lower, long long ld, vec *tiles) {
    vec *upper_tile = tiles, *lower_tile = tiles + TILE * SIDE;
    words_of<V> in[2][MICRO_TILES][MICRO_ROWS];
    const bool two = upper != lower; // on the diagonal there is only one
    read_tile(in[0], upper, ld);
    if (two)
        read_tile(in[1], lower, ld);
    put_tile(upper_tile, in[0]);
    if (two)
        put_tile(lower_tile, in[1]);
    __syncthreads();
    write_tile(lower, ld, upper_tile);
    if (two)
        write_tile(upper, ld, lower_tile);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    transpose_in_place(elem *dst, long long n, long long ld, int batch, long long stride) {
    extern __shared__ vec tiles[];
    const tile_above at((int)((n + TILE - 1) / TILE));
    const int height = (int)min(n - at.row * TILE, (long long)TILE), width = (int)min(n - at.col * TILE, (long long)TILE);
    wait_for_earlier();
#if BATCHED
    for (int b = blockIdx.z; b < batch; b += gridDim.z)
#else
    const int b = 0;
#endif
    {
        elem *upper = dst + b * stride + at.row * TILE * ld + at.col * TILE;
        elem *lower = dst + b * stride + at.col * TILE * ld + at.row * TILE;
        if (BATCHED && b != blockIdx.z)
            __syncthreads(); // the last tiles have been read out
#if EDGES
        if (height < TILE || width < TILE)
            swap_edge_tiles(upper, lower, ld, height, width, tiles);
        else
#endif
            swap_whole_tiles(upper, lower, ld, tiles);
    }
}
