// y = A x for a sparse matrix in compressed rows. LANES threads share a row. The file makes the matrix itself: where rows
// start, by an expression of the row, and their columns, by a kernel.
//
//@ kernel    spmv
//@ problem   rows 1000000
//@ problem   cols 1000000
//@ problem   average 32
//@ buffer    starts i32 rows + 1 in index i * average + (i == 0 || i == rows ? 0 : i * 7919 % average)
//@ buffer    columns i32 rows * average in
//@ buffer    values f32 rows * average in uniform -1 1
//@ buffer    x f32 cols in uniform -1 1
//@ buffer    y f32 rows out
//@ param     LANES 1 2 4 8 16 32
//@ param     THREADS 64 128 256 512
//@ param     LOAD plain __ldg
//@ param     UNROLL 1 2 4
//@ block     THREADS
//@ grid      ceil_div(rows, THREADS / LANES)
//@ args      y, starts, columns, values, x, i32 rows
//@ default   LANES=8 THREADS=256 LOAD=plain UNROLL=1
//@ data      fill_columns
//@ block     256
//@ grid      ceil_div(rows, 256)
//@ args      columns, starts, i32 rows, i32 cols
//@ reference spmv_reference
//@ block     256
//@ grid      ceil_div(rows, 256)
//@ args      y, starts, columns, values, x, i32 rows
//@ tolerance scale 1e-5
//@ metric    gbps (8 * rows * average + 8 * rows + 4 * cols) / time_ns

#define plain(address) (*(address))

// Columns rise within a row. Their places differ from row to row.
extern "C" __global__ void fill_columns(int *columns, const int *starts, int rows, int cols) {
    const int row = blockIdx.x * 256 + threadIdx.x;
    if (row >= rows)
        return;
    const int begin = starts[row], n = starts[row + 1] - begin;
    for (int i = 0; i < n; i++) {
        const unsigned int mixed = (row * 2654435761u ^ i * 2246822519u) >> 8;
        const long long from = (long long)cols * i / n, to = (long long)cols * (i + 1) / n;
        columns[begin + i] = (int)(from + (to > from ? mixed % (unsigned int)(to - from) : 0));
    }
}

extern "C" __global__ void spmv(float *y, const int *starts, const int *columns, const float *values, const float *x, int rows) {
    const int row = (blockIdx.x * THREADS + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    float sum = 0;
    if (row < rows) {
        const int end = starts[row + 1];
#pragma unroll UNROLL
        for (int i = starts[row] + lane; i < end; i += LANES)
            sum += values[i] * LOAD(&x[LOAD(&columns[i])]);
    }
#pragma unroll
    for (int d = LANES / 2; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, d, LANES);
    if (row < rows && lane == 0)
        y[row] = sum;
}

extern "C" __global__ void spmv_reference(float *y, const int *starts, const int *columns, const float *values, const float *x,
                                          int rows) {
    const int row = blockIdx.x * 256 + threadIdx.x;
    double sum = 0;
    for (int i = row < rows ? starts[row] : 0; row < rows && i < starts[row + 1]; i++)
        sum += (double)values[i] * x[columns[i]];
    if (row < rows)
        y[row] = (float)sum;
}
