// Of a small matrix a tile would be nearly empty. In a batch in which one follows the other a block takes as many as make
// CHUNK bytes, which are one run in the source and one in the destination.
//
//@ kernel   transpose_small
//@ op       transpose
//@ param    CHUNK    4096 8192 16384
//@ param    VS       4 8 16
//@ param    PAD      0 1
//@ param    THREADS  128 256
//@ derived  N_ROWS   rows
//@ derived  N_COLS   cols
//@ derived  SPAN     CHUNK / (rows * cols * elem_size)
//@ where    batch > 1 AND lds = cols AND ldd = rows AND src_stride = rows * cols AND dst_stride = rows * cols
//@ where    rows * cols * elem_size <= CHUNK
//@ where    VS >= elem_size AND CHUNK / THREADS BETWEEN 32 AND 128
//@ launch   early
//@ block    THREADS
//@ grid     ceil_div(batch, CHUNK / (rows * cols * elem_size))
//@ shared   ((CHUNK + 32) / 128 * (128 + PAD * max(4, elem_size)) + 160) * iif(elem_size < 4, 2, 1)
//@ args     dst, src, i32 batch
//@ default  CHUNK=8192 VS=8 PAD=1 THREADS=128

#include "small.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) transpose_small(elem *dst, const elem *src, int batch) {
    move_matrices(dst, src, batch);
}
