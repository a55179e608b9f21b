// A thread reads vectors of 16 bytes. The threads of a block of 32 columns find its scale by shuffles, and write `cast` from
// registers. The tile goes to shared memory as it is, where a thread reads a column of 32 rows and writes its 32 bytes.
// All loads are in flight before the first conversion.
//
// DOWN  threads of a warp below each other when columns are written; the others are side by side
// ORDER numbers blocks along the rows of the source (0) or down its columns (1), where the grid allows it
//@ kernel   cast_transpose_mx_tiled
//@ op       cast_transpose_mx
//@ param    TILE_COLS  32 64 128
//@ param    TILE_ROWS  32 64 128 256
//@ param    THREADS    128 256 512
//@ param    DOWN       1 2 4 8
//@ param    STREAM     0 1
//@ runtime  ORDER      0 1
//@ derived  FROM       CASE WHEN S = 'f32' THEN 0 WHEN S = 'f16' THEN 1 ELSE 2 END
//@ derived  TO         CASE WHEN D = 'e4m3' THEN 3 ELSE 4 END
//@ derived  BOTH       outputs
//@ derived  EDGES      cols % TILE_COLS > 0 OR rows % TILE_ROWS > 0
//@ let      read       iif(S = 'f32', 4, 2)
//@ let      at_once    THREADS * 16 / read / TILE_COLS
//@ let      tiles_across ceil_div(cols, TILE_COLS)
//@ let      tiles_down ceil_div(rows, TILE_ROWS)
//@ let      turn       iif(tiles_across > 65535, 0, iif(tiles_down > 65535, 1, ORDER))
//@ where    TILE_ROWS % at_once = 0 AND TILE_ROWS / at_once BETWEEN 1 AND 8
//@ where    TILE_ROWS / 32 % DOWN = 0 AND TILE_ROWS / 32 * TILE_COLS >= THREADS / 2
//@ where    (TILE_ROWS * TILE_COLS + TILE_ROWS / 4) * read <= 73728
//@ where    STREAM = 0 OR rows * cols * (read + 2) <= 2 * l2_bytes
//@ launch   early
//@ block    THREADS
//@ grid     iif(turn = 0, tiles_across, tiles_down), iif(turn = 0, tiles_down, tiles_across)
//@ shared   (TILE_ROWS * TILE_COLS + TILE_ROWS / 4) * read
//@ args     dst, dst_scales, cast, cast_scales, src, i64 rows, i64 cols, i32 turn
//@ default  TILE_COLS=64 TILE_ROWS=64 THREADS=128 DOWN=2 STREAM=0 ORDER=0

#define WANTED 0 // no amax
#include "cast_transpose.cuh"
#include "mx.cuh"

#define VL      16
#define V       (VL / (int)sizeof(S))
#define ACROSS  (TILE_COLS / V)
#define AT_ONCE (THREADS / ACROSS)
#define EACH    (TILE_ROWS / AT_ONCE)
#define MX      32 // numbers of a block

// Rows of a warp that are a block apart begin so far apart that they have no bank conflicts.
static __device__ int place(int row, int c) {
    return row * TILE_COLS + row / MX * 8 + c;
}

static __device__ void fill(S *tile, D *cast, unsigned char *scales, const S *src, long long cols, int height, int width) {
    const int y = threadIdx.x / ACROSS, c = threadIdx.x % ACROSS * V;
    words_of<VL> in[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        in[i].v = vec_of<VL>::type();
        if (!EDGES || (y + i * AT_ONCE < height && c < width))
            in[i].v = fetch((const vec_of<VL>::type *)(src + (y + i * AT_ONCE) * cols + c));
    }
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        const int row = y + i * AT_ONCE;
        if (BOTH & 1)
            *(vec_of<VL>::type *)(tile + place(row, c)) = in[i].v;
        if (BOTH & 2) {
            float most = 0, none = 0;
            words_of<V> out;
#pragma unroll
            for (int e = 0; e < V; e++)
                most = greater(most, value(bits_of(in[i], e)));
#pragma unroll
            for (int lane = MX / V / 2; lane > 0; lane /= 2)
                most = fmaxf(most, __shfl_xor_sync(~0u, most, lane));
            const unsigned code = scale_code(most, TO);
#pragma unroll
            for (int k = 0; k < V / 4; k++) {
                const unsigned bits[] = {bits_of(in[i], 4 * k), bits_of(in[i], 4 * k + 1), bits_of(in[i], 4 * k + 2),
                                         bits_of(in[i], 4 * k + 3)};
                out.w[k] = convert(bits, inverse_scale(code), none);
            }
            if (!EDGES || (row < height && c < width)) {
                store((vec_of<V>::type *)(cast + row * cols + c), out.v);
                if (c % MX == 0)
                    scales[row * (cols / MX) + c / MX] = (unsigned char)code;
            }
        }
    }
}

static __device__ void write_columns(const S *tile, D *dst, unsigned char *scales, long long rows, int height, int width) {
#pragma unroll 1
    for (int i = threadIdx.x; i < TILE_ROWS / MX * TILE_COLS; i += THREADS) {
        const int c = i / DOWN % TILE_COLS, row = (i / (DOWN * TILE_COLS) * DOWN + i % DOWN) * MX;
        const S *from = tile + place(row, c);
        unsigned bits[MX];
        float most = 0, none = 0;
        words_of<16> out[2];
        if (EDGES && (row >= height || c >= width))
            continue;
#pragma unroll
        for (int r = 0; r < MX; r++) {
            const S *p = from + r * TILE_COLS;
            bits[r] = sizeof(S) == 4 ? *(const unsigned *)p : *(const unsigned short *)p;
            most = greater(most, value(bits[r]));
        }
        const unsigned code = scale_code(most, TO);
#pragma unroll
        for (int k = 0; k < MX / 4; k++)
            out[k / 4].w[k % 4] = convert(bits + 4 * k, inverse_scale(code), none);
        D *to = dst + c * rows + row;
        store((uint4 *)to, out[0].v);
        store((uint4 *)to + 1, out[1].v);
        scales[c * (rows / MX) + row / MX] = (unsigned char)code;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    cast_transpose_mx_tiled(D *dst, unsigned char *dst_scales, D *cast, unsigned char *cast_scales, const S *src, long long rows,
                            long long cols, int order) {
    extern __shared__ uint4 shared[];
    S *tile = (S *)shared;
    const long long col0 = (long long)block_across(order) * TILE_COLS, row0 = (long long)block_down(order) * TILE_ROWS;
    const int height = (int)min(rows - row0, (long long)TILE_ROWS), width = (int)min(cols - col0, (long long)TILE_COLS);
    const long long at = row0 * cols + col0, to = col0 * rows + row0;
    wait_for_earlier();
    fill(tile, cast + at, cast_scales + row0 * (cols / MX) + col0 / MX, src + at, cols, height, width);
    if (BOTH & 1) {
        __syncthreads();
        write_columns(tile, dst + to, dst_scales + col0 * (rows / MX) + row0 / MX, rows, height, width);
    }
}
