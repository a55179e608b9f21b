// As transpose_small, in place: a block has read all of its matrices before it writes the first.
//
//@ kernel   transpose_small_in_place
//@ op       transpose_in_place
//@ param    CHUNK    4096 8192 16384
//@ param    VS       4 8 16
//@ param    PAD      0 1
//@ param    THREADS  128 256
//@ derived  N_ROWS   rows
//@ derived  N_COLS   cols
//@ derived  SPAN     CHUNK / (rows * cols * elem_size)
//@ where    batch > 1 AND ldd = rows AND dst_stride = rows * cols
//@ where    rows * cols * elem_size <= CHUNK
//@ where    VS >= elem_size AND CHUNK / THREADS BETWEEN 32 AND 128
//@ launch   early
//@ block    THREADS
//@ grid     ceil_div(batch, CHUNK / (rows * cols * elem_size))
//@ shared   ((CHUNK + 32) / 128 * (128 + PAD * max(4, elem_size)) + 160) * iif(elem_size < 4, 2, 1)
//@ args     dst, i32 batch
//@ default  CHUNK=8192 VS=8 PAD=1 THREADS=128

#include "small.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) transpose_small_in_place(elem *dst, int batch) {
    move_matrices(dst, dst, batch);
}
