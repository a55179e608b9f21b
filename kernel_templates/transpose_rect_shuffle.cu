// Rectangles in place without scratch memory, where the long side fits in shared memory. The three steps are those of Catanzaro,
// Keller and Garland, "A Decomposition for In-place Matrix Transposition". First columns rotate, so that the elements of each row
// go to different columns. Then elements move to their columns in each row, and at last to their rows in each column. With more
// rows than columns (BACK), this is undone, step by step, on an array of `few` rows. If rows and cols have no common divisor,
// nothing has to rotate.
//@ kernel   transpose_rect_shuffle
//@ op       transpose_rect_in_place
//@ param    BAND     8 16 32 64 128
//@ param    THREADS  256 512 1024
//@ derived  BACK     rows > cols
//@ derived  N_ROWS   min(rows, cols)
//@ derived  N_COLS   max(rows, cols)
//@ where    rows > 1 AND cols > 1 AND rows * cols < 4294967296
//@ where    BAND >= elem_size AND N_ROWS * BAND <= shared_per_block AND N_COLS * elem_size <= shared_per_block
//@ block    THREADS
//@ grid     ceil_div(N_COLS * elem_size, BAND)
//@ shared   N_ROWS * BAND
//@ args     dst
//@ kernel   shuffle_rows
//@ block    THREADS
//@ grid     N_ROWS
//@ shared   N_COLS * elem_size
//@ args     dst
//@ kernel   shuffle_last
//@ block    THREADS
//@ grid     ceil_div(N_COLS * elem_size, BAND)
//@ shared   N_ROWS * BAND
//@ args     dst
//@ default  BAND=16 THREADS=512

#include "common.cuh"

#define WIDTH (BAND / ELEM_SIZE) // columns of a band

static __device__ constexpr unsigned common_divisor(unsigned a, unsigned b) {
    return b ? common_divisor(b, a % b) : a;
}
constexpr unsigned rows = N_ROWS, cols = N_COLS, divisor = common_divisor(rows, cols), turn = cols / divisor;

// Reads a band of columns, and writes it so that each place gets what is in row FROM(row, column), or gives it back.
template <class FROM> static __device__ void move_in_columns(elem *dst, FROM from) {
    extern __shared__ uint4 shared[];
    elem *band = (elem *)shared;
    const unsigned first = blockIdx.x * WIDTH;
#pragma unroll 8
    for (unsigned i = threadIdx.x; i < rows * WIDTH; i += THREADS) {
        const unsigned row = i / WIDTH, col = first + i % WIDTH;
        if (col < cols)
            band[BACK ? from(row, col) * WIDTH + i % WIDTH : i] = dst[row * cols + col];
    }
    __syncthreads();
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < rows * WIDTH; i += THREADS) {
        const unsigned row = i / WIDTH, col = first + i % WIDTH;
        if (col < cols)
            dst[row * cols + col] = band[BACK ? i : from(row, col) * WIDTH + i % WIDTH];
    }
}

// Every `turn` columns further on, one row further down.
static __device__ void rotate(elem *dst) {
    if (divisor > 1)
        move_in_columns(dst, [](unsigned row, unsigned col) { return (row + col / turn) % rows; });
}

static __device__ void shuffle_columns(elem *dst) {
    move_in_columns(dst, [](unsigned row, unsigned col) {
        const unsigned place = row * cols + col, down = place / rows / turn; // of the result; of the rotation
        return (place % rows + rows - down % rows) % rows;
    });
}

extern "C" __global__ void __launch_bounds__(THREADS) transpose_rect_shuffle(elem *dst) {
    if (BACK)
        shuffle_columns(dst);
    else
        rotate(dst);
}

extern "C" __global__ void __launch_bounds__(THREADS) shuffle_rows(elem *dst) {
    extern __shared__ uint4 shared[];
    elem *row = (elem *)shared, *at = dst + (unsigned long long)blockIdx.x * cols;
    const auto to = [](unsigned col) { return ((blockIdx.x + col / turn) % rows + col * rows) % cols; };
#pragma unroll 8
    for (unsigned c = threadIdx.x; c < cols; c += THREADS)
        row[BACK ? c : to(c)] = at[c];
    __syncthreads();
#pragma unroll 4
    for (unsigned c = threadIdx.x; c < cols; c += THREADS)
        at[c] = row[BACK ? to(c) : c];
}

extern "C" __global__ void __launch_bounds__(THREADS) shuffle_last(elem *dst) {
    if (BACK)
        rotate(dst);
    else
        shuffle_columns(dst);
}
