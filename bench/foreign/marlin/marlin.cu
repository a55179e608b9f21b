// Marlin: halves times 4-bit weights, by E. Frantar and others. The weights are permuted, so the default is the reference.
//@ kernel    Marlin<threads, 1, n_blocks, k_blocks, stages, -1>
//@ problem   m 16
//@ problem   n 8192
//@ problem   k 8192
//@ require   m <= 16
//@ buffer    a f16 m * k in
//@ buffer    b i32 k * n / 8 in
//@ buffer    c f16 m * n out
//@ buffer    scales f16 n in uniform
//@ buffer    locks i32 n / 128 * 16 inout zeros
//@ param     threads 128 256 as template
//@ param     n_blocks 4 8 16 as template
//@ param     k_blocks 4 8 16 as template
//@ param     stages 2 3 4 5 6 as template
//@ runtime   blocks_per_sm 1 2
//@ where     n % (16 * n_blocks) = 0 AND k % (16 * k_blocks) = 0
//@ where     threads / 32 % (n_blocks / 4) = 0
//@ where     8 * n_blocks * k_blocks % (2 * threads) = 0
//@ let       slots stages * (2 * k_blocks * 16 + 8 * n_blocks * k_blocks + 2 * n_blocks)
//@ block     threads
//@ grid      sm_count * blocks_per_sm
//@ shared    max(16 * slots, 49152)
//@ args      a, b, c, scales, i32 m, i32 n, i32 k, locks
//@ default   threads=256 n_blocks=8 k_blocks=8 stages=4 blocks_per_sm=1
//@ reference default
//@ tolerance scale 2e-2

#include "../sources/marlin/marlin/marlin_cuda_kernel.cu"
