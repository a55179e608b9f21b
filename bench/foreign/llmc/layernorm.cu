// Layer normalization of llm.c, by A. Karpathy and others: a block for each row.
//@ kernel    layernorm_forward_kernel5
//@ problem   n 8192
//@ problem   c 1600
//@ buffer    out f32 n * c out
//@ buffer    mean f32 n out
//@ buffer    rstd f32 n out
//@ buffer    inp f32 n * c in normal
//@ buffer    weight f32 c in normal
//@ buffer    bias f32 c in normal
//@ runtime   block_size 32 64 128 256 512 1024
//@ block     block_size
//@ grid      n
//@ args      out, mean, rstd, inp, weight, bias, i32 n, i32 c
//@ default   block_size=512
//@ reference layernorm_forward_kernel1
//@ block     64
//@ grid      ceil_div(n, 64)
//@ args      out, mean, rstd, inp, weight, bias, i32 n, i32 c
//@ tolerance scale 1e-5
//@ tolerance mean abs 1e-5
//@ tolerance rstd rel 1e-4

#include "../sources/llm.c/dev/cuda/layernorm_forward.cu"
