// The innermost dimension is the same on both sides, so that whole rows are moved without shared memory. The tile
// (permute_tile.cuh) is gone through in the order of the destination. With READ_RUN it also has rows that are neighbours in the
// source, which share sectors. VL is bytes of a vector, 0 at most 4.
//
//@ kernel    permute_rows
//@ op        permute
//@ param     READ_RUN 1 256 1024
//@ param     RUN      256 512 1024 2048 4096 8192 16384 32768
//@ param     THREADS  128 256 512
//@ param     VL       0 8 16
//@ param     ORDER    0 1
//@ let       elements permute_tile(1, READ_RUN, RUN)
//@ let       widest   min(permute_tile(2, READ_RUN, RUN), permute_tile(3, READ_RUN, RUN))
//@ let       WIDE_LOAD min(iif(VL > 0, VL, max(4, elem_size)), widest)
//@ let       WIDE_STORE WIDE_LOAD
//@ where     stride0 = 1
//@ where     READ_RUN = 1 OR dim0 * elem_size * 2 <= READ_RUN
//@ where     VL = 0 OR (VL > elem_size AND VL <= widest)
//@ where     (READ_RUN = 1 AND RUN = 4096) OR elements BETWEEN THREADS * max(1, VL / elem_size) AND THREADS * 32
//@ let      bytes    permute_tile(10, 1, 1) * elem_size
//@ derived  KEEP     cc >= 80 AND bytes > 2 * l2_bytes AND max(VL, elem_size) >= 4
//@ block     THREADS
//@ grid      permute_tile(0, READ_RUN, RUN)
//@ args      dst, src
//@ default   READ_RUN=1 RUN=4096 THREADS=256 VL=0 ORDER=1

#define WRITE_RUN  RUN
#define PAD        0
#define MOVE       1
#define WIDE_LOAD  permute_vector(VL, tile.read_max < tile.write_max ? tile.read_max : tile.write_max)
#define WIDE_STORE WIDE_LOAD
#include "common.cuh"
#include "permute_tile.cuh"
#include "permute.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) permute_rows(elem *__restrict__ dst, const elem *__restrict__ src) {
    const permute_start start = permute_start_of(blockIdx.x);
    if (permute_is_cut<0>(start))
        permute_read<true>(dst, src, start);
    else
        permute_read<false>(dst, src, start);
    if (KEEP)
        __syncthreads();
    permute_release(src, start);
}
