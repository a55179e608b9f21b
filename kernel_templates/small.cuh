// The work of transpose_small and transpose_small_in_place.

// Of smaller elements words are read that lie side by side, of short rows those of several matrices.
#define PADDED (PAD && (ELEM_SIZE >= 4 || N_COLS * ELEM_SIZE < 32))
#include "turned_run.cuh"

#define MATRIX    (N_ROWS * N_COLS) // elements of one
#define READ_SPAN (SPAN * STRIDE)   // elements that are read, with gaps
#define CAN_TURN  (ELEM_SIZE < WORD && !GAPS && N_COLS % ABREAST == 0 && PITCH % ABREAST == 0 && STRIDE % ABREAST == 0)

// Down the columns of one matrix after the other, from byte `head` of the tile on.
struct place_in_columns {
    int from, left, left_all; // `left`: of the column, of the matrix
    __device__ int at(int i) const {
        const int over = i / N_ROWS + (i % N_ROWS >= left), over_all = i / MATRIX + (i % MATRIX >= left_all);
        return from + (i * PITCH + over * (1 - N_ROWS * PITCH) + over_all * (STRIDE - N_COLS)) * ELEM_SIZE;
    }
};
struct columns {
    int head;
    __device__ place_in_columns operator()(int before, unsigned int q) const { // the q-th element after so many columns
        const int column = before + q / N_ROWS, row = q % N_ROWS, matrix = column / (unsigned)N_COLS;
        const int col = column - matrix * N_COLS;
        return place_in_columns{head + (matrix * STRIDE + row * PITCH + col) * ELEM_SIZE, N_ROWS - row,
                                MATRIX - col * N_ROWS - row};
    }
};
// Where the destination's matrices have gaps, one of them.
struct columns_of {
    columns all;
    int matrix;
    __device__ place_in_columns operator()(int col, unsigned int q) const {
        return all(matrix * N_COLS + col, q);
    }
};

#if CAN_TURN
template <bool ALIGNED> static __device__ void turn_matrices(char *out, const elem *to, int n, const char *tile, int head) {
    const int across = N_COLS / ABREAST, each = across * TURN_ROUNDS;
#pragma unroll 1
    for (int i = threadIdx.x; i < n * each; i += THREADS) {
        const int matrix = i / each, round = i % each / across, col = i % across * ABREAST;
        turn_round<PITCH * ELEM_SIZE, ALIGNED>(out, begin_of(to) + (matrix * MATRIX + col * N_ROWS) * ELEM_SIZE, tile,
                                               head + (matrix * STRIDE + col) * ELEM_SIZE, round);
    }
}
#endif

static __device__ void move_matrices(elem *dst, const elem *src, int batch, long long ldd, long long dst_stride) {
    extern __shared__ uint4 shared[];
    char *tile = (char *)shared;
    const long long first = (long long)blockIdx.x * SPAN;
    const int n = (int)min((long long)SPAN, batch - first), used = (N_ROWS - 1) * PITCH + N_COLS;
    const elem *from = src + first * STRIDE, *end = src + (batch - 1) * (long long)STRIDE + used;
    elem *to = dst + first * (GAPS ? dst_stride : MATRIX);
    const int head = past(from, VEC);
    const bool amid = first > 0 && batch - first >= SPAN + VEC;
    wait_for_earlier();
    read_runs<1, READ_SPAN>(tile, runs{from, 0, 1, (n - 1) * STRIDE + used, src, end, amid});
    __syncthreads();
    if (GAPS) {
        for (int m = 0; m < n; m++)
            write_runs<N_COLS, N_ROWS>(to + m * dst_stride, ldd, N_COLS, N_ROWS, tile, false, columns_of{{head}, m});
        return;
    }
    const bool even = past(to, VS) == 0 && n * MATRIX % PER == 0;
#if CAN_TURN
    char *out = second_tile(tile, TOUCHED(READ_SPAN, VEC) * VEC);
    if (head % WORD == 0)
        turn_matrices<true>(out, to, n, tile, head);
    else
        turn_matrices<false>(out, to, n, tile, head);
    __syncthreads();
    write_turned<SPAN * MATRIX>(to, n * MATRIX, out, even);
#else
    write_runs<1, SPAN * MATRIX>(to, 0, 1, n * MATRIX, tile, even, columns{head});
#endif
}
