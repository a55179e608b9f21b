// Micro-tiles are turned in registers on their way to shared memory, as in transpose_vector. Numbers are scaled when they are
// written. What is added to them is read before the barrier. Vectors are the widest that all rows have.
//
// STREAM 1 and 2 as in common.cuh: the cache may evict first what was read and written, or keeps lines until they were read
// ORDER  numbers blocks along the rows of the source (0) or down its columns (1), where the grid allows it
//@ kernel   transpose_scaled_vector
//@ op       transpose_scaled
//@ param    READ_RUN   128 256 512
//@ param    WRITE_RUN  128 256 512
//@ param    THREADS    128 256 512
//@ param    STREAM     0 1 2
//@ runtime  ORDER      0 1
//@ derived  N_PARTS    parts
//@ derived  N_TERMS    terms
//@ derived  FORM_NO    form
//@ derived  NUMBER     elem_size * parts
//@ derived  VL         align_of(lds * NUMBER)
//@ derived  VS         align_of(ldd * NUMBER)
//@ derived  EDGES      cols * NUMBER % READ_RUN > 0 OR rows * NUMBER % WRITE_RUN > 0
//@ let      tiles_across ceil_div(cols * NUMBER, READ_RUN)
//@ let      tiles_down ceil_div(rows * NUMBER, WRITE_RUN)
//@ let      turn       iif(tiles_across > 65535, 0, iif(tiles_down > 65535, 1, ORDER))
//@ where    (READ_RUN / VL) * (WRITE_RUN / VS) % THREADS = 0
//@ where    THREADS % (READ_RUN / VL) = 0 AND THREADS % (WRITE_RUN / VS) = 0
//@ where    READ_RUN * WRITE_RUN / NUMBER / THREADS BETWEEN 16 AND 128
//@ where    STREAM <> 1 OR rows * cols * NUMBER * (1 + terms) <= 2 * l2_bytes
//@ where    STREAM <> 2 OR (rows * cols * NUMBER * (1 + terms) > 2 * l2_bytes AND cc >= 80 AND lds * NUMBER % 128 = 0)
//@ launch   early
//@ block    THREADS
//@ grid     iif(turn = 0, tiles_across, tiles_down), iif(turn = 0, tiles_down, tiles_across)
//@ shared   READ_RUN * WRITE_RUN / NUMBER
//@ args     dst, src, alpha, alpha_imag, beta, beta_imag, i64 rows, i64 cols, i64 lds, i64 ldd, i32 turn
//@ default  READ_RUN=256 WRITE_RUN=256 THREADS=128 STREAM=0 ORDER=1

#undef ELEM_SIZE
#define ELEM_SIZE NUMBER // of a number, not of its parts
#define KEEP      (STREAM == 2)
#include "micro_tile.cuh"
#include "scaled.cuh"

typedef vec_of<VL>::type vl;
typedef vec_of<VS>::type vs;
union numbers {
    vs v;
    T part[VS / sizeof(T)];
};

// Scales the numbers of `x` and adds those of `to`.
static __device__ void scale_vector(numbers &to, const numbers &x, const factors &f) {
#pragma unroll
    for (int i = 0; i < VS / (int)sizeof(T); i += N_PARTS)
        scale(to.part + i, x.part + i, f, N_PARTS, N_TERMS, FORM_NO);
}

static __device__ void move_whole_tile(elem *dst, const elem *src, long long lds, long long ldd, const factors &f, vs *tile) {
    const int t = threadIdx.x, u = t % DOWN;
    words_of<VL> in[MICRO_TILES][MICRO_ROWS];
    numbers out[VECTORS];

    src += (long long)(t / ACROSS * MICRO_ROWS) * lds + t % ACROSS * MICRO_COLS;
    dst += (long long)(t / DOWN) * ldd + u * MICRO_ROWS;
    EACH_VECTOR in[m][r].v = fetch((const vl *)(src + (m * BETWEEN + r) * lds));
#pragma unroll
    for (int k = 0; k < VECTORS; k++) {
        out[k].v = vs();
        if (N_TERMS == 2)
            out[k].v = load((const vs *)(dst + k * (THREADS / DOWN) * ldd));
    }
#pragma unroll
    for (int m = 0; m < MICRO_TILES; m++)
        put(tile, in[m], t % ACROSS, t / ACROSS + m * (THREADS / ACROSS), DOWN);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < VECTORS; k++) {
        numbers x;
        x.v = tile[place(t / DOWN + k * (THREADS / DOWN), u, DOWN)];
        scale_vector(out[k], x, f);
        store((vs *)(dst + k * (THREADS / DOWN) * ldd), out[k].v);
    }
#if KEEP
    EACH_VECTOR let_go(src + (m * BETWEEN + r) * lds);
#endif
}

// `height` and `width`: from the tile's first number to the end of the matrix.
static __device__ void move_edge_tile(elem *dst, const elem *src, long long lds, long long ldd, int height, int width,
                                      const factors &f, vs *tile) {
#pragma unroll 1
    for (int k = threadIdx.x; k < ACROSS * DOWN; k += THREADS)
        put_edge(tile, src, lds, height, width, true, k % ACROSS, k / ACROSS, DOWN);
    __syncthreads();
#pragma unroll 1
    for (int k = threadIdx.x; k < TILE_COLS * DOWN; k += THREADS) {
        const int c = k / DOWN, row = k % DOWN * MICRO_ROWS;
        numbers x;
        x.v = tile[place(c, k % DOWN, DOWN)];
        for (int r = 0; r < MICRO_ROWS && c < width && row + r < height; r++)
            scale((T *)(dst + c * ldd + row + r), x.part + r * N_PARTS, f, N_PARTS, N_TERMS, FORM_NO);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    transpose_scaled_vector(T *dst, const T *src, T alpha, T alpha_imag, T beta, T beta_imag, long long rows, long long cols,
                            long long lds, long long ldd, int order) {
    extern __shared__ uint4 shared[];
    const factors f = {{alpha, alpha_imag}, {beta, beta_imag}};
    const long long col0 = (long long)block_across(order) * TILE_COLS, row0 = (long long)block_down(order) * TILE_ROWS;
    elem *to = (elem *)dst + col0 * ldd + row0;
    const elem *from = (const elem *)src + row0 * lds + col0;
    wait_for_earlier();
#if EDGES
    if (row0 + TILE_ROWS > rows || col0 + TILE_COLS > cols) {
        move_edge_tile(to, from, lds, ldd, (int)min(rows - row0, (long long)1 << 30), (int)min(cols - col0, (long long)1 << 30), f,
                       (vs *)shared);
        return;
    }
#endif
    move_whole_tile(to, from, lds, ldd, f, (vs *)shared);
}
