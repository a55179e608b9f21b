// Rows that start anywhere. The source and `cast` are one run of numbers each, with the same places: an aligned vector of 16
// bytes of the source makes an aligned vector of `cast`, wherever rows begin. So vectors are read, converted and written as in
// a copy. They also go to shared memory, as rows. A pitch that is like `cols` modulo GRAIN keeps the vectors aligned there, too.
// Then the words of a column are gathered.
//
// A grain is GRAIN numbers of `cast` that one block writes, because the first of them is in its tile. A row begins anywhere in
// one, so the tile is a grain narrower than what is read.
//
// SEGMENT   a written run of a column starts at the first multiple of so many bytes, so that two blocks never write the same
//           ones. For this a tile is read further down than its neighbour begins.
// SECTORS   a grain is a vector (0) or 32 bytes of `cast` (1)
// LANES     threads of a warp that write words of one column; the others are at the next columns
// PREFETCH  the first load of a line brings so many bytes to the L2 cache
// ORDER     numbers blocks along the rows of the source (0) or down its columns (1), where the grid allows it
//@ kernel   cast_transpose_shifted
//@ op       cast_transpose
//@ param    READ_RUN   256 512
//@ param    TILE_ROWS  64 128 256
//@ param    THREADS    256 512 1024
//@ param    SEGMENT    4 32
//@ param    SECTORS    0 1
//@ param    LANES      8 32
//@ param    PREFETCH   0 128
//@ runtime  ORDER      0 1
//@ derived  FROM       CASE WHEN S = 'f32' THEN 0 WHEN S = 'f16' THEN 1 ELSE 2 END
//@ derived  TO         CASE WHEN D = 'f32' THEN 0 WHEN D = 'f16' THEN 1 WHEN D = 'bf16' THEN 2 WHEN D = 'e4m3' THEN 3 ELSE 4 END
//@ derived  WANTED     outputs
//@ let      vec        iif(S = 'f32', 4, 8)
//@ derived  GRAIN      max(vec, SECTORS * 32 / elem_size)
//@ derived  SKEW       cols % GRAIN
//@ let      at_once    THREADS * 16 / READ_RUN
//@ let      each       ceil_div(TILE_ROWS + SEGMENT / elem_size, at_once)
//@ let      tiles_across ceil_div(cols, READ_RUN / 16 * vec - GRAIN)
//@ let      tiles_down ceil_div(rows, TILE_ROWS)
//@ let      turn       iif(tiles_across > 65535, 0, iif(tiles_down > 65535, 1, ORDER))
//@ where    at_once % GRAIN = 0 AND TILE_ROWS % at_once = 0 AND each BETWEEN 3 AND 10 AND READ_RUN / 16 * vec >= 2 * GRAIN
//@ where    TILE_ROWS * elem_size / 4 % LANES = 0 AND THREADS % (TILE_ROWS * elem_size * 8 / LANES) = 0
//@ where    (TILE_ROWS + SEGMENT / elem_size) * (READ_RUN / 16 * vec + SKEW) * elem_size <= 80000
//@ where    SECTORS = 0 OR (GRAIN > vec AND (outputs & 2) > 0)
//@ where    PREFETCH = 0 OR cc >= 80
//@ launch   early
//@ block    THREADS
//@ grid     iif(turn = 0, tiles_across, tiles_down), iif(turn = 0, tiles_down, tiles_across)
//@ shared   ((TILE_ROWS + SEGMENT / elem_size) * (READ_RUN / 16 * vec + SKEW) + 2 * GRAIN) * elem_size
//@ args     dst, cast, amax, src, scale, i64 rows, i64 cols, i32 turn
//@ default  READ_RUN=256 TILE_ROWS=128 THREADS=512 SEGMENT=32 SECTORS=0 LANES=32 PREFETCH=0 ORDER=0

#include "cast_transpose.cuh"

#define VL        16
#define V         (VL / (int)sizeof(S))
#define ACROSS    (READ_RUN / VL) // vectors of a row
#define TILE_COLS (ACROSS * V - GRAIN)
#define PITCH     (ACROSS * V + SKEW)
#define AT_ONCE   (THREADS / ACROSS) // rows; a multiple of GRAIN, so that all rows of a thread begin alike
#define READ_ROWS (TILE_ROWS + SEGMENT / ELEM_SIZE)
#define EACH      ((READ_ROWS + AT_ONCE - 1) / AT_ONCE) // rows of a thread
#define RUN       (TILE_ROWS / PER_WORD)                // words of a column
#define PIECE     (V * ELEM_SIZE < 16 ? V * ELEM_SIZE : 16)

// A tile: its first numbers, and its size up to the matrix's edges.
struct part {
    D *dst, *cast, *shared; // `shared` begins in its grain as the tile does
    const S *src;
    long long rows, cols, row0, col0;
    int height, width;
};

static __device__ void convert_vector(unsigned *w, const words_of<VL> &in, float factor, float &most) {
#pragma unroll
    for (int k = 0; k < V / PER_WORD; k++) {
        unsigned bits[PER_WORD];
#pragma unroll
        for (int e = 0; e < PER_WORD; e++)
            bits[e] = bits_of(in, k * PER_WORD + e);
        w[k] = convert(bits, factor, most);
    }
}

static __device__ void put_vector(D *to, const unsigned *w) {
#pragma unroll
    for (int i = 0; i < V / PER_WORD; i += PIECE / 4) {
        words_of<PIECE> out;
#pragma unroll
        for (int k = 0; k < PIECE / 4; k++)
            out.w[k] = w[i + k];
        *(vec_of<PIECE>::type *)(to + i * PER_WORD) = out.v;
    }
}

// Reads and converts the tile. Returns the largest absolute value. The matrix's last numbers are left out if they are no whole
// vector.
template <bool INSIDE> static __device__ float fill(const part &t, const float *scale) {
    const int y = threadIdx.x / ACROSS, column = threadIdx.x % ACROSS * V;
    // A row begins with the grain that its first number is in. The grain's owner writes it.
    const long long first = t.row0 * t.cols + t.col0;
    const int skip = (int)((first + y * t.cols) % GRAIN), c = column - skip, grain = column / GRAIN * GRAIN - skip;
    const bool ours = grain >= 0 && grain < t.width;
    const S *from = t.src + y * t.cols + c, *last = t.src + (t.rows * t.cols - first - V);
    D *to = t.cast + y * t.cols + c, *shared = t.shared + y * PITCH + c;
    words_of<VL> in[EACH];
    bool is[EACH];
    float most = 0;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        const int row = y + i * AT_ONCE;
        is[i] = ((i + 1) * AT_ONCE <= READ_ROWS || row < READ_ROWS) &&
                (INSIDE || (row < t.height && grain < t.width && from <= last));
        in[i].v = vec_of<VL>::type();
        if (is[i])
            in[i].v = fetch((const vec_of<VL>::type *)from);
        from += AT_ONCE * t.cols;
        OPAQUE(from);
    }
    const float factor = *scale;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        unsigned w[V / PER_WORD];
        convert_vector(w, in[i], factor, most);
        if (is[i])
            put_vector(shared + i * AT_ONCE * PITCH, w);
        if ((WANTED & 2) && i * AT_ONCE < TILE_ROWS && is[i] && ours)
            put_vector(to, w);
        to += AT_ONCE * t.cols;
        OPAQUE(to);
    }
    return most;
}

// Those last numbers, if the tile has them.
static __device__ float fill_rest(const part &t, const float *scale) {
    const long long n = t.rows * t.cols, at = n / V * V + threadIdx.x;
    const long long row = at / t.cols - t.row0, c = at % t.cols - t.col0;
    float most = 0;
    if (threadIdx.x >= V || at >= n || row < 0 || row >= READ_ROWS || c < 0 || c >= TILE_COLS)
        return most;
    const S *from = t.src + row * t.cols + c;
    const unsigned bits[PER_WORD] = {sizeof(S) == 4 ? *(const unsigned *)from : *(const unsigned short *)from};
    const elem code = (elem)convert(bits, *scale, most);
    ((elem *)t.shared)[row * PITCH + c] = code;
    if ((WANTED & 2) && row < TILE_ROWS)
        ((elem *)t.cast)[row * t.cols + c] = code;
    return most;
}

// The elements of a word, which are below each other in the tile.
static __device__ unsigned gather(const elem *from) {
#if ELEM_SIZE == 4
    return from[0];
#elif ELEM_SIZE == 2
    return from[0] | (unsigned)from[PITCH] << 16;
#else
    return __byte_perm(__byte_perm(from[0], from[PITCH], 0x40), __byte_perm(from[2 * PITCH], from[3 * PITCH], 0x40), 0x5410);
#endif
}

template <bool INSIDE> static __device__ void write_columns(const part &t) {
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int u = warp % (RUN / LANES) * LANES + lane % LANES; // word of a run
    const elem *tile = (const elem *)t.shared;
#pragma unroll (INSIDE ? 4 : 1)
    for (int c = warp / (RUN / LANES) * (WARP / LANES) + lane / LANES; c < (INSIDE ? TILE_COLS : t.width); c += THREADS / RUN) {
        elem *run = (elem *)t.dst + c * t.rows;
        const int skip = (int)(-(unsigned long long)run & (SEGMENT - 1)) / ELEM_SIZE, row = skip + u * PER_WORD;
        const elem *from = tile + row * PITCH + c;
        if (INSIDE || row + PER_WORD <= t.height)
            *(unsigned *)(run + row) = gather(from);
        else
            for (int r = 0; r < PER_WORD && row + r < t.height; r++)
                run[row + r] = from[r * PITCH];
        for (int r = u; t.row0 == 0 && r < skip && r < t.height; r += RUN)
            run[r] = tile[r * PITCH + c];
    }
}

// Blocks an SM shall hold, or the compiler takes more registers than it needs.
#define RESIDENT ((EACH <= 6 ? 1024 : 512) / THREADS)

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
    cast_transpose_shifted(D *dst, D *cast, float *amax, const S *src, const float *scale, long long rows, long long cols,
                           int order) {
    extern __shared__ uint4 shared[];
    // From the end: tiles on an edge take longer, and begin first.
    const unsigned x = gridDim.x - 1 - blockIdx.x, y = gridDim.y - 1 - blockIdx.y;
    part t;
    t.rows = rows;
    t.cols = cols;
    t.row0 = (long long)(order == 0 ? y : x) * TILE_ROWS;
    t.col0 = (long long)(order == 0 ? x : y) * TILE_COLS;
    t.height = (int)min(rows - t.row0, (long long)READ_ROWS);
    t.width = (int)min(cols - t.col0, (long long)TILE_COLS);
    t.dst = dst + t.col0 * rows + t.row0;
    t.cast = cast + t.row0 * cols + t.col0;
    t.src = src + t.row0 * cols + t.col0;
    t.shared = (D *)shared + (t.row0 * cols + t.col0) % GRAIN;
    wait_for_earlier();
    if (t.height == READ_ROWS && cols - t.col0 >= ACROSS * V) {
        meet_and_raise(amax, fill<true>(t, scale));
        write_columns<true>(t);
    } else {
        meet_and_raise(amax, fmaxf(fill<false>(t, scale), fill_rest(t, scale)));
        write_columns<false>(t);
    }
}
