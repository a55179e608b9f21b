// Five points on a grid of rows x cols, as in a step of the heat equation. A point becomes a weighted sum of itself and
// its four neighbours. Values outside the grid count as 0. Five results need each value, and it should come from memory
// once.
//
// A thread makes WIDTH results side by side, in DEPTH rows below each other. From row to row, a value in a register is
// the lower neighbour, the centre and the upper neighbour of three results. Sideways, the first and the last of WIDTH
// need values of other threads. SIDES says where these come from: the L1 cache, the next lanes of the warp, or shared
// memory. With shared memory, the block copies its whole tile there first.
//
//@ kernel    stencil_2d
//@ problem   rows 16384
//@ problem   cols 16384
//@ buffer    src f32 rows * cols in normal
//@ buffer    dst f32 rows * cols out
//@ param     SIDES cache shuffle shared
//@ param     WIDTH 1 2 4
//@ param     DEPTH 1 2 4 8 16
//@ param     BX    32 64 128 256
//@ param     BY    1 2 4 8
//@ where     cols % WIDTH = 0
//@ where     BX * BY BETWEEN 64 AND 512
//@ where     BY * DEPTH BETWEEN 2 AND 64
//@ block     BX, BY
//@ grid      ceil_div(cols, BX * WIDTH), ceil_div(rows, BY * DEPTH)
//@ shared    iif(SIDES = 'shared', (BY * DEPTH + 2) * (BX + 2) * WIDTH * 4, 0)
//@ args      dst, src, i64 rows, i64 cols
//@ default   SIDES=shared WIDTH=1 DEPTH=1 BX=64 BY=4
//@ reference stencil_2d_reference
//@ block     32, 8
//@ grid      ceil_div(cols, 32), ceil_div(rows, 8)
//@ args      dst, src, i64 rows, i64 cols
//@ tolerance abs 1e-6 rel 1e-6
//@ metric    gbps 2 * rows * cols * 4 / time_ns

enum { cache, shuffle, shared };
#define CENTRE    0.6f
#define NEIGHBOUR 0.1f

// WIDTH values that are loaded and stored at once. cols is a multiple of WIDTH, so no row begins within one.
#if WIDTH == 1
typedef float vec;
#elif WIDTH == 2
typedef float2 vec;
#else
typedef float4 vec;
#endif
union pack {
    vec all;
    float v[WIDTH];
};

static __device__ pack load(const float *src, long long row, long long col, long long rows, long long cols) {
    pack p = {};
    if (row >= 0 && row < rows && col >= 0 && col < cols)
        p.all = *(const vec *)(src + row * cols + col);
    return p;
}

static __device__ float load_one(const float *src, long long row, long long col, long long rows,
                                 long long cols) {
    return row < rows && col >= 0 && col < cols ? src[row * cols + col] : 0.0f;
}

extern "C" __global__ void __launch_bounds__(BX *BY)
    stencil_2d(float *__restrict__ dst, const float *__restrict__ src, long long rows, long long cols) {
    const int x = threadIdx.x, y = threadIdx.y * DEPTH;
    const long long col0 = (long long)blockIdx.x * (BX * WIDTH), row0 = (long long)blockIdx.y * (BY * DEPTH);
    const long long col = col0 + x * WIDTH, row = row0 + y;
    pack in[DEPTH + 2];              // the rows from the one above to the one below
    float left[DEPTH], right[DEPTH]; // of the rows between those

    if (SIDES == shared) {
        extern __shared__ pack tile[][BX + 2]; // BY * DEPTH + 2 rows
        for (int r = threadIdx.y; r < BY * DEPTH + 2; r += BY)
            for (int c = x; c < BX + 2; c += BX)
                tile[r][c] = load(src, row0 + r - 1, col0 + (c - 1) * WIDTH, rows, cols);
        __syncthreads();
#pragma unroll
        for (int r = 0; r < DEPTH + 2; r++)
            in[r] = tile[y + r][x + 1];
#pragma unroll
        for (int r = 0; r < DEPTH; r++) {
            left[r] = tile[y + r + 1][x].v[WIDTH - 1];
            right[r] = tile[y + r + 1][x + 2].v[0];
        }
    } else {
        // All loads are in flight before the first result waits for one.
#pragma unroll
        for (int r = 0; r < DEPTH + 2; r++)
            in[r] = load(src, row + r - 1, col, rows, cols);
#pragma unroll
        for (int r = 0; r < DEPTH; r++) {
            if (SIDES == shuffle) {
                left[r] = __shfl_up_sync(0xffffffff, in[r + 1].v[WIDTH - 1], 1);
                right[r] = __shfl_down_sync(0xffffffff, in[r + 1].v[0], 1);
            }
            if (SIDES == cache || x % 32 == 0)
                left[r] = load_one(src, row + r, col - 1, rows, cols);
            if (SIDES == cache || x % 32 == 31)
                right[r] = load_one(src, row + r, col + WIDTH, rows, cols);
        }
    }

#pragma unroll
    for (int r = 0; r < DEPTH; r++) {
        pack out;
#pragma unroll
        for (int e = 0; e < WIDTH; e++) {
            const float west = e > 0 ? in[r + 1].v[e - 1] : left[r];
            const float east = e < WIDTH - 1 ? in[r + 1].v[e + 1] : right[r];
            out.v[e] = CENTRE * in[r + 1].v[e] + NEIGHBOUR * (in[r].v[e] + in[r + 2].v[e] + west + east);
        }
        if (row + r < rows && col < cols)
            ((vec *)dst)[((row + r) * cols + col) / WIDTH] = out.all;
    }
}

extern "C" __global__ void stencil_2d_reference(float *dst, const float *src, long long rows,
                                                long long cols) {
    const long long col = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || col >= cols)
        return;
    const float *at = src + row * cols + col;
    const float north = row > 0 ? at[-cols] : 0.0f, south = row < rows - 1 ? at[cols] : 0.0f;
    const float west = col > 0 ? at[-1] : 0.0f, east = col < cols - 1 ? at[1] : 0.0f;
    dst[row * cols + col] = CENTRE * *at + NEIGHBOUR * (north + south + west + east);
}
