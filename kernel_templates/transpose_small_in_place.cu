// As transpose_small, in place: a block reads all of its matrices before it writes the first.
//@ kernel   transpose_small_in_place
//@ op       transpose_in_place
//@ param    CHUNK    4096 8192 16384 32768 65536
//@ param    VS       4 8 16
//@ param    PAD      0 1
//@ param    THREADS  128 256 512 1024
//@ derived  N_ROWS   rows
//@ derived  N_COLS   cols
//@ derived  PITCH    ldd
//@ derived  STRIDE   dst_stride
//@ derived  SPAN     CHUNK / (dst_stride * elem_size)
//@ derived  GAPS     ldd > rows OR dst_stride > rows * cols
//@ where    batch > 1 AND ldd <= 2 * rows AND dst_stride BETWEEN (rows - 1) * ldd + cols AND 2 * rows * ldd
//@ where    dst_stride * elem_size <= CHUNK AND (CHUNK <= 16384 OR dst_stride * elem_size * 4 > CHUNK)
//@ where    VS >= elem_size AND CHUNK / THREADS BETWEEN 32 AND 128
//@ launch   early
//@ block    THREADS
//@ grid     ceil_div(batch, SPAN)
//@ shared   ((CHUNK + 64) / 128 * (128 + PAD * max(4, elem_size)) + 192) * iif(elem_size < 4 AND NOT GAPS AND cols % (4 / elem_size) = 0, 2, 1)
//@ args     dst, i32 batch, i64 ldd, i64 dst_stride
//@ default  CHUNK=8192 VS=16 PAD=1 THREADS=128

#define SKEW 0
#include "small.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    transpose_small_in_place(elem *dst, int batch, long long ldd, long long dst_stride) {
    move_matrices(dst, dst, batch, ldd, dst_stride);
}
