// BAT's search for a key by its MD5 digest, from SHOC, by J. Meredith and others.
//
//@ kernel    FindKeyWithDigest_Kernel
//@ problem   keyspace 10000000
//@ buffer    index i32 1 inout zeros
//@ buffer    key u8 8 inout zeros
//@ buffer    digest u32 4 inout zeros
// The digest of key 9989759.
//@ scalar    d0 u32 2745829788
//@ scalar    d1 u32 1540754381
//@ scalar    d2 u32 615701928
//@ scalar    d3 u32 1640371132
//@ param     BLOCK_SIZE 32 64 96 128 160 192 224 256 288 320 352 384 416 448 480 512 544 576 608 640 672 704 736 768 800 832 864 896 928 960 992 1024
//@ param     ROUND_STYLE 0 1
//@ param     INLINE_1 0 1 2
//@ param     INLINE_2 0 1 2
//@ param     UNROLL_LOOP_1 1 2 4 8
//@ param     UNROLL_LOOP_2 1 2 4 8
//@ param     UNROLL_LOOP_3 1 2 4
//@ param     WORK_PER_THREAD_FACTOR 1 2 3 4 5 6
//@ block     BLOCK_SIZE
//@ grid      keyspace / 10 / BLOCK_SIZE / WORK_PER_THREAD_FACTOR + 1
//@ args      d0, d1, d2, d3, i32 keyspace, 7, 10, index, key, digest
//@ default   BLOCK_SIZE=256 ROUND_STYLE=0 INLINE_1=0 INLINE_2=0 UNROLL_LOOP_1=8 UNROLL_LOOP_2=8 UNROLL_LOOP_3=4 WORK_PER_THREAD_FACTOR=1
//@ reference md5_reference
//@ block     256
//@ grid      ceil_div(keyspace, 256)
//@ args      d0, d1, d2, d3, i32 keyspace, index, key, digest

// MD5 as RFC 1321 has it, of a key of 7 bytes, which are the digits of its number.
extern "C" __global__ void md5_reference(unsigned d0, unsigned d1, unsigned d2, unsigned d3, int keyspace, int *index,
                                         unsigned char *key, unsigned *digest) {
    const int shift[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    int number = blockIdx.x * 256 + threadIdx.x, rest = number;
    if (number >= keyspace)
        return;
    unsigned w[16] = {}, h[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    for (int i = 0; i < 7; i++, rest /= 10)
        w[i / 4] |= rest % 10 << i % 4 * 8;
    w[1] |= 0x80000000;
    w[14] = 7 * 8;
    unsigned a = h[0], b = h[1], c = h[2], d = h[3];
    for (int i = 0; i < 64; i++) {
        unsigned f, g;
        if (i < 16)
            f = (b & c) | (~b & d), g = i;
        else if (i < 32)
            f = (d & b) | (~d & c), g = (5 * i + 1) % 16;
        else if (i < 48)
            f = b ^ c ^ d, g = (3 * i + 5) % 16;
        else
            f = c ^ (b | ~d), g = 7 * i % 16;
        f += a + (unsigned)(long long)(4294967296.0 * fabs(sin(i + 1.0))) + w[g];
        a = d, d = c, c = b, b += f << shift[i / 16][i % 4] | f >> (32 - shift[i / 16][i % 4]);
    }
    h[0] += a, h[1] += b, h[2] += c, h[3] += d;
    if (h[0] != d0 || h[1] != d1 || h[2] != d2 || h[3] != d3)
        return;
    *index = number;
    for (int i = 0; i < 8; i++)
        key[i] = w[i / 4] >> i % 4 * 8;
    key[7] = 0;
    for (int i = 0; i < 4; i++)
        digest[i] = h[i];
}

#include "../sources/BAT/batbench/benchmarks/MD5Hash/md5hash_kernel.h"
