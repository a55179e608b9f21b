// Batches of small matrices: a block takes so many as have CHUNK bytes, reads them as one run, gaps included, and writes one
// run. With GAPS in the destination it writes a run to each row.
//@ kernel   transpose_small
//@ op       transpose
//@ param    CHUNK    4096 8192 16384 32768 65536
//@ param    VS       4 8 16
//@ param    PAD      0 1
//@ param    THREADS  128 256 512 1024
//@ derived  N_ROWS   rows
//@ derived  N_COLS   cols
//@ derived  PITCH    lds
//@ derived  STRIDE   src_stride
//@ derived  SPAN     CHUNK / (src_stride * elem_size)
//@ derived  GAPS     ldd > rows OR dst_stride > rows * cols
//@ where    batch > 1 AND lds <= 2 * cols AND src_stride BETWEEN (rows - 1) * lds + cols AND 2 * rows * lds AND dst_stride >= (cols - 1) * ldd + rows
//@ where    src_stride * elem_size <= CHUNK AND (CHUNK <= 16384 OR src_stride * elem_size * 4 > CHUNK)
//@ where    VS >= elem_size AND CHUNK / THREADS BETWEEN 32 AND 128
//@ launch   early
//@ block    THREADS
//@ grid     ceil_div(batch, SPAN)
//@ shared   ((CHUNK + 64) / 128 * (128 + PAD * max(4, elem_size)) + 192) * iif(elem_size < 4 AND NOT GAPS AND (cols | lds | src_stride) % (4 / elem_size) = 0, 2, 1)
//@ args     dst, src, i32 batch, i64 ldd, i64 dst_stride
//@ default  CHUNK=8192 VS=16 PAD=1 THREADS=128

#define SKEW 0
#include "small.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    transpose_small(elem *dst, const elem *src, int batch, long long ldd, long long dst_stride) {
    move_matrices(dst, src, batch, ldd, dst_stride);
}
