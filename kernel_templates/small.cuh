// What transpose_small does, and in place: included by both, no template of its own.

#include "turned.cuh"

#define CAN_TURN (ELEM_SIZE < WORD && group_of(N_ROWS) > 0)
#define GROUP (CAN_TURN ? group_of(N_ROWS) : 1)

#define MATRIX (N_ROWS * N_COLS)
#define VECTORS TOUCHED(SPAN *MATRIX, VS) // of the run that is written
#define READ_BYTES (TOUCHED(SPAN *MATRIX, VEC) * VEC)

// Down the columns of one matrix after the other, from byte `head` of the tile on.
struct columns {
    int head, at, row, col; // `at`: of the row's element in that column
    __device__ void start(int q) {
        row = q % N_ROWS;
        col = q / N_ROWS % N_COLS;
        at = head + (q / MATRIX * MATRIX + row * N_COLS + col) * ELEM_SIZE;
    }
    __device__ int next() {
        const int here = at;
        at += N_COLS * ELEM_SIZE;
        if (++row == N_ROWS) {
            row = 0;
            at += (1 - MATRIX) * ELEM_SIZE;
            if (++col == N_COLS) {
                col = 0;
                at += (MATRIX - N_COLS) * ELEM_SIZE;
            }
        }
        return here;
    }
};
struct group {
    int at; // of its first element
    __device__ int operator()(int i) const { return at + i * N_COLS * ELEM_SIZE; }
};

static __device__ void move_matrices(elem *dst, const elem *src, int batch) {
    extern __shared__ uint4 shared[];
    char *tile = (char *)shared;
    const long long first = (long long)blockIdx.x * SPAN;
    const int n = (int)min((long long)SPAN, batch - first) * MATRIX;
    const elem *from = src + first * MATRIX;
    elem *to = dst + first * MATRIX;

    wait_for_earlier();
    read_runs<1, SPAN * MATRIX>(tile, from, 0, n, src, src + (long long)batch * MATRIX);
    __syncthreads();
    const int head = past(from, VEC);
    if (CAN_TURN && N_COLS % ABREAST == 0 && past(to, WORD) == 0) {
        char *out = tile + place(READ_BYTES) + VEC - place(READ_BYTES) % VEC;
        const int across = N_COLS / ABREAST > 0 ? N_COLS / ABREAST : 1, groups = across * (N_ROWS / GROUP);
        for (int i = threadIdx.x; i < SPAN * groups; i += THREADS) {
            const int begin = i / groups * MATRIX, row = i % groups / across * GROUP, col = i % across * ABREAST;
            turn_rows<GROUP>(out, past(to, VS) + (begin + col * N_ROWS + row) * ELEM_SIZE, N_ROWS, tile,
                             group{head + (begin + row * N_COLS + col) * ELEM_SIZE});
        }
        __syncthreads();
        for (int v = threadIdx.x; v < VECTORS; v += THREADS)
            write_turned(to, v, n, out);
        return;
    }
    for (int v = threadIdx.x; v < VECTORS; v += THREADS)
        write_vector(to, v, n, tile, columns{head, 0, 0, 0});
}
