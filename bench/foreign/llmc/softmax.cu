// Softmax of llm.c, by A. Karpathy and others: unrolled, for many columns.
//@ kernel    softmax_forward_kernel7
//@ problem   n 2048
//@ problem   c 50257
//@ buffer    out f32 n * c out
//@ buffer    inp f32 n * c in normal
//@ runtime   block_size 32 64 128 256 512 1024
//@ param     UNROLL_FACTOR 1 2 4 8 16
//@ block     block_size
//@ grid      n
//@ shared    2 * block_size / 32 * 4
//@ args      out, inp, i32 n, i32 c
//@ default   block_size=512 UNROLL_FACTOR=8
//@ reference softmax_forward_online_kernel1
//@ block     64
//@ grid      ceil_div(n, 64)
//@ args      out, inp, i32 n, i32 c
//@ tolerance rel 1e-4

#include "../sources/llm.c/dev/cuda/softmax_forward.cu"
