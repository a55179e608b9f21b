// What the templates of cast_transpose share. S is read and D is written. FROM and TO are their kinds, WANTED is `outputs`.
// Results of a column are packed into words of PER_WORD rows.

#include "common.cuh"
#include "cast.cuh"

#define WARP     32
#define PER_WORD (4 / ELEM_SIZE)

// The bits of number `e` of a vector of S.
template <int BYTES> static __device__ unsigned bits_of(const words_of<BYTES> &in, int e) {
    return sizeof(S) == 4 ? in.w[e] : in.w[e / 2] >> e % 2 * 16 & 0xffff;
}

static __device__ float value(unsigned bits) {
#if FROM == 1 && !defined __HOSTCUDA__
    float v;
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"((unsigned short)bits));
    return v;
#else
    return value_of(bits, FROM);
#endif
}

// The codes of two values; the first is the lower one.
#if TO == 1 && __CUDA_ARCH__ >= 800 && !defined __HOSTCUDA__
#define CONVERT "cvt.rn.f16x2.f32"
#elif TO == 2 && __CUDA_ARCH__ >= 800 && !defined __HOSTCUDA__
#define CONVERT "cvt.rn.bf16x2.f32"
#elif TO == 3 && __CUDA_ARCH__ >= 890 && !defined __HOSTCUDA__
#define CONVERT "cvt.rn.satfinite.e4m3x2.f32"
#elif TO == 4 && __CUDA_ARCH__ >= 890 && !defined __HOSTCUDA__
#define CONVERT "cvt.rn.satfinite.e5m2x2.f32"
#endif
static __device__ unsigned pair(float a, float b) {
#if !defined CONVERT
    return code_of(a, TO) | code_of(b, TO) << (8 * ELEM_SIZE & 31);
#elif ELEM_SIZE == 2
    unsigned code;
    asm(CONVERT " %0, %1, %2;" : "=r"(code) : "f"(b), "f"(a));
    return code;
#else
    unsigned short code;
    asm(CONVERT " %0, %1, %2;" : "=h"(code) : "f"(b), "f"(a));
    return code;
#endif
}

// The word of PER_WORD codes of S, in rows below each other. `most` becomes the largest absolute value.
static __device__ unsigned convert(const unsigned *bits, float factor, float &most) {
    float v[PER_WORD];
#pragma unroll
    for (int r = 0; r < PER_WORD; r++) {
        v[r] = value(bits[r]);
        if (WANTED & 4)
            most = greater(most, v[r]);
        v[r] *= factor;
    }
#if ELEM_SIZE == 4
    return __float_as_uint(v[0]);
#elif ELEM_SIZE == 2
    return pair(v[0], v[1]);
#else
    return pair(v[0], v[1]) | pair(v[2], v[3]) << 16;
#endif
}

// Row r of PER_WORD columns.
static __device__ unsigned row_word(const unsigned *w, int r) {
#if ELEM_SIZE == 4
    return w[0];
#elif ELEM_SIZE == 2
    return __byte_perm(w[0], w[1], r ? 0x7632 : 0x5410);
#else
    const unsigned s = (unsigned)(r | (4 + r) << 4);
    return __byte_perm(__byte_perm(w[0], w[1], s), __byte_perm(w[2], w[3], s), 0x5410);
#endif
}

// Threads of the block meet. Amax becomes the largest value of theirs if that is larger.
static __device__ void meet_and_raise(float *amax, float most) {
    __shared__ float maxima[THREADS / WARP];
    if (WANTED & 4) {
#pragma unroll
        for (int i = WARP / 2; i > 0; i /= 2)
            most = fmaxf(most, __shfl_xor_sync(~0u, most, i));
        if (threadIdx.x % WARP == 0)
            maxima[threadIdx.x / WARP] = most;
    }
    __syncthreads();
    if ((WANTED & 4) && threadIdx.x == 0) {
        for (int i = 1; i < THREADS / WARP; i++)
            most = fmaxf(most, maxima[i]);
        atomicMax((unsigned *)amax, __float_as_uint(most)); // floats from 0 on are in the order of their bits
    }
}
