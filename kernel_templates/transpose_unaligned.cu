// Rows of 8-byte elements that start anywhere. Reads are aligned chunks of 16 bytes that may reach over the ends of a run.
//
// A tile lies in shared memory as in the source. Its pitch has the same remainder modulo 128 as the source's, so that the
// chunks of a cache line stand alike on both sides. A written run starts at the first multiple of 32 bytes in its row, so that
// two blocks never write one sector. For this a tile is read up to 31 bytes further down than its neighbour begins.
//@ kernel   transpose_unaligned
//@ op       transpose
//@ param    READ_RUN   128 256 512
//@ param    WRITE_RUN  128 256 512
//@ param    THREADS    128 256 512
//@ runtime  ORDER      0 1
//@ let      tiles_across ceil_div(cols * elem_size, READ_RUN)
//@ let      tiles_down ceil_div(rows * elem_size, WRITE_RUN)
//@ let      pitch READ_RUN + 30 + (lds * elem_size + 98) % 128
//@ where    elem_size = 8 AND align >= elem_size AND (lds * elem_size % 16 > 0 OR ldd * elem_size % 16 > 0)
//@ where    READ_RUN * WRITE_RUN / elem_size / THREADS BETWEEN 16 AND 128
//@ where    THREADS >= WRITE_RUN / elem_size
//@ where    batch <= 65535
//@ launch   early
//@ block    THREADS
//@ grid     iif(ORDER = 0, tiles_across, tiles_down), iif(ORDER = 0, tiles_down, tiles_across), batch
//@ shared   ((WRITE_RUN + 32) / elem_size - 1) * pitch + 128
//@ args     dst, src, i64 rows, i64 cols, i64 lds, i64 ldd, i64 src_stride, i64 dst_stride, i32 pitch, i32 ORDER
//@ default  READ_RUN=256 WRITE_RUN=256 THREADS=256 ORDER=1

#include "common.cuh"

#define TILE_COLS (READ_RUN / ELEM_SIZE)
#define TILE_ROWS (WRITE_RUN / ELEM_SIZE)
#define READ_ROWS (TILE_ROWS + SECTOR / ELEM_SIZE - 1)

// Reading: so many threads a row that they can begin at the start of its cache line.
#define CHUNKS    (READ_RUN / 16 + 8)
#define READ_STEP (THREADS / CHUNKS)

// Writing: TILE_ROWS threads a destination row. Rows that are PERIOD apart begin alike.
#define SECTOR     32
#define PERIOD     (SECTOR / ELEM_SIZE)
#define ABREAST    (THREADS / TILE_ROWS)
#define WRITE_STEP (ABREAST > PERIOD ? ABREAST : PERIOD)

// One tile: its first elements, pitches in bytes, and its size.
struct tile {
    char *dst, *shared;
    const char *src;
    long long src_pitch, dst_pitch;
    int pitch;
    long long height, width;         // from its first element to the end of the matrix
    const char *src_begin, *src_end; // of the matrix
};

// Copies 16 bytes to shared memory without a register. The rest of the cache line comes to the L2 cache.
#if HINTS
typedef unsigned int shared_address;
static __device__ shared_address address_of(char *p) {
    shared_address address = (shared_address)__cvta_generic_to_shared(p);
    asm volatile("" : "+r"(address)); // once, not for each chunk again
    return address;
}
static __device__ void copy_chunk(shared_address to, const char *from) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
#define WAIT_FOR_CHUNKS asm volatile("cp.async.wait_all;" ::: "memory")
#else
typedef char *shared_address;
#define address_of(p)        (p)
#define copy_chunk(to, from) (*(uint4 *)(to) = *(const uint4 *)(from))
#define WAIT_FOR_CHUNKS
#endif

static __device__ void read_whole(const tile &t) {
    const int chunk = threadIdx.x % CHUNKS * 16;
    int r = threadIdx.x / CHUNKS;
    const char *row = t.src + r * t.src_pitch;
    shared_address to = address_of(t.shared) + r * t.pitch;
    if (r == READ_STEP)
        return;
#pragma unroll
    for (int k = 0; k < READ_ROWS; k += READ_STEP) {
        const int at = chunk - (int)((unsigned long long)row % 128);
        if ((k + READ_STEP <= READ_ROWS || k + r < READ_ROWS) && at > -16 && at < READ_RUN)
            copy_chunk(to + at, row + at);
        row += READ_STEP * t.src_pitch;
        to += READ_STEP * t.pitch;
    }
}

// On an edge: rows and columns may end, and a chunk may reach out of the matrix.
static __device__ void read_edge(const tile &t) {
    const int rows = (int)min(t.height, (long long)READ_ROWS);
    const int run = (int)min(t.width * ELEM_SIZE, (long long)READ_RUN);
#pragma unroll 2
    for (int k = threadIdx.x; k < rows * CHUNKS; k += THREADS) {
        const int r = k / CHUNKS;
        const char *row = t.src + r * t.src_pitch;
        const int at = k % CHUNKS * 16 - (int)((unsigned long long)row % 128);
        char *to = t.shared + r * t.pitch + at;
        if (at <= -16 || at >= run)
            continue;
        if (row + at >= t.src_begin && row + at + 16 <= t.src_end) {
            copy_chunk(address_of(to), row + at);
            continue;
        }
#pragma unroll 1
        for (int b = 0; b < 16; b += ELEM_SIZE)
            if (at + b >= 0 && at + b < run)
                *(elem *)(to + b) = *(const elem *)(row + at + b);
    }
}

static __device__ void write_whole(const tile &t) {
#pragma unroll 1
    for (int first = threadIdx.x / TILE_ROWS; first < WRITE_STEP; first += ABREAST) {
        char *row = t.dst + first * t.dst_pitch;
        const int at = (int)(-(unsigned long long)row % SECTOR) + threadIdx.x % TILE_ROWS * ELEM_SIZE;
        const char *from = t.shared + at / ELEM_SIZE * t.pitch + first * ELEM_SIZE;
        row += at;
#pragma unroll
        for (int c = 0; c < TILE_COLS; c += WRITE_STEP) {
            *(elem *)row = *(const elem *)(from + c * ELEM_SIZE);
            row += WRITE_STEP * t.dst_pitch;
        }
    }
}

// On an edge: the first tile also writes what lies before its first segment, the last ones end early.
static __device__ void write_edge(const tile &t, bool first) {
    const int tall = (SECTOR + WRITE_RUN) / ELEM_SIZE;
    const int cols = (int)min(t.width, (long long)TILE_COLS);
#pragma unroll 2
    for (int k = threadIdx.x; k < cols * tall; k += THREADS) {
        const int c = k / tall;
        char *row = t.dst + c * t.dst_pitch;
        const int skip = (int)(-(unsigned long long)row % SECTOR);
        const int at = skip - SECTOR + k % tall * ELEM_SIZE;
        const int begin = first ? 0 : skip;
        const int end = (int)min(t.height * ELEM_SIZE, (long long)skip + WRITE_RUN);
        if (at >= begin && at < end)
            *(elem *)(row + at) = *(const elem *)(t.shared + at / ELEM_SIZE * t.pitch + c * ELEM_SIZE);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    transpose_unaligned(elem *dst, const elem *src, long long rows, long long cols, long long lds, long long ldd,
                        long long src_stride, long long dst_stride, int pitch, int order) {
    extern __shared__ __align__(128) uint4 shared[];

    // From the end: tiles on an edge take longer, and begin first.
    const unsigned x = gridDim.x - 1 - blockIdx.x, y = gridDim.y - 1 - blockIdx.y;
    const long long col0 = (long long)(order == 0 ? x : y) * TILE_COLS;
    const long long row0 = (long long)(order == 0 ? y : x) * TILE_ROWS;
    dst += blockIdx.z * dst_stride;
    src += blockIdx.z * src_stride;
    tile t;
    t.dst = (char *)(dst + col0 * ldd + row0);
    t.src = (const char *)(src + row0 * lds + col0);
    t.shared = (char *)shared + (unsigned long long)t.src % 128;
    t.src_pitch = lds * ELEM_SIZE;
    t.dst_pitch = ldd * ELEM_SIZE;
    t.pitch = pitch;
    t.height = rows - row0;
    t.width = cols - col0;
    t.src_begin = (const char *)src;
    t.src_end = (const char *)(src + (rows - 1) * lds + cols);
    wait_for_earlier();
    // A tile that touches neither the first row nor the last cannot reach out of the matrix.
    if (row0 > 0 && t.height > READ_ROWS && t.width >= TILE_COLS) {
        read_whole(t);
        WAIT_FOR_CHUNKS;
        __syncthreads();
        write_whole(t);
    } else {
        read_edge(t);
        WAIT_FOR_CHUNKS;
        __syncthreads();
        write_edge(t, row0 == 0);
    }
}
