// The stricter ceiling: a copy that walks through memory as a transpose does, and transposes nothing.
//
// Tile (x, y) of the source goes to tile (y, x) of the destination, read in pieces of READ_RUN contiguous
// bytes and written in pieces of WRITE_RUN, element after element of the tile. No shared memory, no exchange
// between threads. Every element arrives exactly once, but not at its transposed place.
//
//@ kernel   copy_mirrored
//@ op       transpose
//@ param    READ_RUN   128 256 512 1024
//@ param    WRITE_RUN  128 256 512 1024
//@ param    THREADS    256 512
//@ param    STREAM     0 1
//@ runtime  ORDER      0 1 2
//@ where    align = 16
//@ where    READ_RUN * WRITE_RUN / elem_size / THREADS / 16 BETWEEN 2 AND 16
//@ block    THREADS
//@ grid     ceil_div(cols * elem_size, READ_RUN) * ceil_div(rows * elem_size, WRITE_RUN)
//@ args     dst, src, i64 rows, i64 cols, i64 lds, i64 ldd, i32 ORDER
//@ default  READ_RUN=256 WRITE_RUN=256 THREADS=256 STREAM=0 ORDER=1

#if ELEM_SIZE == 1
typedef unsigned char elem;
#elif ELEM_SIZE == 2
typedef unsigned short elem;
#elif ELEM_SIZE == 4
typedef unsigned int elem;
#elif ELEM_SIZE == 8
typedef uint2 elem;
#else
typedef uint4 elem;
#endif

typedef uint4 vec;
#define VEC 16
#define TILE_COLS (READ_RUN / ELEM_SIZE)
#define TILE_ROWS (WRITE_RUN / ELEM_SIZE)
#define READ_VECS (READ_RUN / VEC)
#define WRITE_VECS (WRITE_RUN / VEC)
#define EACH (TILE_ROWS * READ_VECS / THREADS)

extern "C" __global__ void __launch_bounds__(THREADS)
    copy_mirrored(elem *__restrict__ dst, const elem *__restrict__ src, long long rows, long long cols,
                  long long lds, long long ldd, int order) {
    const unsigned across = (unsigned)((cols + TILE_COLS - 1) / TILE_COLS);
    const unsigned down = gridDim.x / across;
    // Along the rows, down the columns, or along the diagonals of the source.
    const unsigned bx = order == 1 ? blockIdx.x / down : blockIdx.x % across;
    const unsigned by = order == 1   ? blockIdx.x % down
                        : order == 2 ? (blockIdx.x / across + bx) % down
                                     : blockIdx.x / across;
    const long long col0 = (long long)bx * TILE_COLS, row0 = (long long)by * TILE_ROWS;
    const elem *from = src + row0 * lds + col0;
    elem *to = dst + col0 * ldd + row0;
    const int t = threadIdx.x;

    if (col0 + TILE_COLS <= cols && row0 + TILE_ROWS <= rows) {
        vec held[EACH];
#pragma unroll
        for (int u = 0; u < EACH; u++) {
            const int k = u * THREADS + t;
            const vec *p = (const vec *)(from + (k / READ_VECS) * lds) + k % READ_VECS;
            held[u] = STREAM ? __ldcs(p) : *p;
        }
#pragma unroll
        for (int u = 0; u < EACH; u++) {
            const int k = u * THREADS + t;
            vec *p = (vec *)(to + (k / WRITE_VECS) * ldd) + k % WRITE_VECS;
            if (STREAM)
                __stcs(p, held[u]);
            else
                *p = held[u];
        }
        return;
    }
    const int width = (int)min(cols - col0, (long long)TILE_COLS);
    const int height = (int)min(rows - row0, (long long)TILE_ROWS);
    for (int k = t; k < width * height; k += THREADS)
        to[(k / height) * ldd + k % height] = from[(k / width) * lds + k % width];
}
