// Tiles over the innermost dimensions of both sides (permute_tile.cuh) go through shared memory. Sizes and strides are compiled
// in, so that all index arithmetic is multiplications and shifts. VL and VS are bytes of the vectors that are loaded and stored,
// 0 at most 4. PAD 1 leaves a gap in shared memory after each run of the source, which avoids bank conflicts. With HOLD 1 shared
// memory has the order of the destination, so that whole runs are stored as vectors. ORDER 0 numbers blocks in the order of the
// source, 1 in that of the destination. With SPLIT 1, a thread's vectors have the same indices in the first dimensions, so it works
// out this part of their places only once. With SPLIT 0, fewer threads are idle.
//
//@ kernel    permute_tiled
//@ op        permute
//@ param     READ_RUN  64 128 256 512 1024
//@ param     WRITE_RUN 64 128 256 512 1024
//@ param     THREADS   128 256 512
//@ param     VL        0 8 16
//@ param     VS        0 8 16
//@ param     PAD       0 1
//@ param     HOLD      0 1
//@ param     ORDER     0 1
//@ param     SPLIT     0 1
//@ let       elements  permute_tile(1, READ_RUN, WRITE_RUN)
//@ let       WIDE_LOAD min(iif(VL > 0, VL, max(4, elem_size)), permute_tile(2, READ_RUN, WRITE_RUN))
//@ let       WIDE_STORE iif(HOLD = 1, permute_tile(11, READ_RUN, WRITE_RUN), min(iif(VS > 0, VS, max(4, elem_size)), permute_tile(3, READ_RUN, WRITE_RUN)))
//@ where     SPLIT = 0 OR elem_size <= 2
//@ where     stride0 > 1 OR dim0 * elem_size < 128
//@ where     VL = 0 OR (VL > elem_size AND VL <= permute_tile(2, READ_RUN, WRITE_RUN))
//@ where     VS = 0 OR (VS > elem_size AND VS <= permute_tile(3, READ_RUN, WRITE_RUN))
//@ where     (elements + elements / 2) * elem_size <= 49152
//@ where     (READ_RUN = 256 AND WRITE_RUN = 128) OR elements BETWEEN THREADS * max(1, max(VL, VS) / elem_size) AND THREADS * 64
//@ where     PAD = 1 OR (READ_RUN = 256 AND WRITE_RUN = 128)
//@ where     HOLD = 0 OR (VS = 0 AND PAD = 1 AND elements * elem_size <= 24576)
//@ let       bytes     permute_tile(10, 1, 1) * elem_size
//@ derived   KEEP      cc >= 80 AND bytes > 2 * l2_bytes AND max(VL, elem_size) >= 8
//@ block     THREADS
//@ grid      permute_tile(0, READ_RUN, WRITE_RUN)
//@ args      dst, src
//@ default   READ_RUN=256 WRITE_RUN=128 THREADS=256 VL=0 VS=0 PAD=1 HOLD=0 ORDER=0 SPLIT=0

#define WIDE_LOAD  permute_vector(VL, tile.read_max)
#define WIDE_STORE (HOLD ? tile.run_max : permute_vector(VS, tile.write_max))
#include "common.cuh"
#include "permute_tile.cuh"
#include "permute.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) permute_tiled(elem *__restrict__ dst, const elem *__restrict__ src) {
    __shared__ __align__(16) vec_of<permute_unit>::type room[permute_units];
    elem *held = (elem *)room;
    const permute_start start = permute_start_of(blockIdx.x);
    const bool is_cut = permute_is_cut<0>(start);
    if (is_cut)
        permute_read<true>(held, src, start);
    else
        permute_read<false>(held, src, start);
    __syncthreads();
    if (is_cut)
        permute_write<true>(dst, held, start);
    else
        permute_write<false>(dst, held, start);
    permute_release(src, start);
}
