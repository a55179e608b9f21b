// Elements of 1 and 2 bytes are turned in words of 4 bytes: gathered one by one they would be the more work the smaller
// they are. Included by templates, no template of its own.

#include "chunk.cuh"

#define WORD 4
#define ABREAST (ELEM_SIZE < WORD ? WORD / ELEM_SIZE : 1) // elements of a word

// The `at`th element of a word.
struct part {
    unsigned int word;
    int at;
};
// A word of ABREAST such. All `at` are constants after unrolling.
template <class PARTS> static __device__ unsigned int join(PARTS parts) {
#if ELEM_SIZE == 1
    const part a = parts(0), b = parts(1), c = parts(2), d = parts(3);
    const unsigned int low = __byte_perm(a.word, b.word, a.at | (b.at + 4) << 4);
    const unsigned int high = __byte_perm(c.word, d.word, c.at | (d.at + 4) << 4);
    return __byte_perm(low, high, 0x5410);
#elif ELEM_SIZE == 2
    const part a = parts(0), b = parts(1);
    return __byte_perm(a.word, b.word, (a.at ? 0x0032 : 0x0010) | (b.at ? 0x7600 : 0x5400));
#else
    return parts(0).word;
#endif
}
