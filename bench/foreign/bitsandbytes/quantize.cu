// Blockwise quantization to 8 bits, by T. Dettmers and others.
//@ kernel    kQuantizeBlockwise<float, 4096, per_thread, 0, General8bit>
//@ include   ../sources/bitsandbytes/csrc
//@ problem   n 67108864
//@ require   n % 4096 = 0
//@ buffer    code f32 256 in sorted -1 1
//@ buffer    a f32 n in normal
//@ buffer    absmax f32 n / 4096 out
//@ buffer    result u8 n out
//@ buffer    unused f32 1 in
//@ param     per_thread 4 8 16 32 as template
//@ block     4096 / per_thread
//@ grid      n / 4096
//@ args      code, a, absmax, result, unused, i32 0, i32 n
//@ default   per_thread=4
//@ reference default

#include "../sources/bitsandbytes/csrc/kernels.cu"
