// SHA-256 of many texts, by M. Zweil. It has no numbers to choose, but the block and the registers.
//@ kernel    kernel_sha256_hash
//@ problem   n 1048576
//@ problem   length 64
//@ buffer    texts u8 n * length in
//@ buffer    hashes u8 n * 32 out
//@ param     registers 32 40 48 64 96 128 255
//@ runtime   threads 32 64 128 256 512 1024
//@ maxrregcount registers
//@ block     threads
//@ grid      ceil_div(n, threads)
//@ args      texts, u32 length, hashes, u32 n
//@ default   registers=255 threads=256
//@ reference default

#include "../sources/cuda-hashing-algos/sha256.cu"
