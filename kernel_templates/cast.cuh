// Conversions between the floating types, bit for bit as CUDA's own headers make them: round to nearest even, fp8 saturates,
// every NaN becomes the same one. The headers themselves may not be installed, so none is included.

// As in `CASE WHEN S = 'f32' THEN 0 WHEN S = 'f16' THEN 1 ...` of the operation.
enum { KIND_F32, KIND_F16, KIND_BF16, KIND_E4M3, KIND_E5M2 };

// The bits of a float in a format with so many bits of exponent and mantissa. Codes above `most` become `most`.
static __device__ unsigned narrow(float v, int exponent, int mantissa, unsigned most, unsigned nan) {
    const unsigned bits = __float_as_uint(v), a = bits & 0x7fffffff, sign = bits >> 31 << (exponent + mantissa);
    const int bias = (1 << (exponent - 1)) - 1, biased = (int)(a >> 23) - 127 + bias;
    if (a > 0x7f800000)
        return nan;
    unsigned from = a - ((unsigned)(127 - bias) << 23);
    int drop = 23 - mantissa;
    if (exponent < 8 && biased < 1) { // subnormal there
        from = (a & 0x7fffff) | 0x800000;
        drop += 1 - biased;
        if (drop > 24)
            return sign;
    }
    const unsigned code = (from + (1u << (drop - 1)) - 1 + (from >> drop & 1)) >> drop;
    return sign | (code < most ? code : most);
}

static __device__ unsigned code_of(float v, int kind) {
    return kind == KIND_F16    ? narrow(v, 5, 10, 0x7c00, 0x7fff)
           : kind == KIND_BF16 ? narrow(v, 8, 7, 0x7f80, 0x7fff)
           : kind == KIND_E4M3 ? narrow(v, 4, 3, 0x7e, 0x7f)
           : kind == KIND_E5M2 ? narrow(v, 5, 2, 0x7b, 0x7f)
                               : __float_as_uint(v);
}

static __device__ float value_of_half(unsigned bits) {
    const unsigned sign = bits >> 15 << 31, a = bits & 0x7fff;
    if (a < 0x400) // subnormal
        return __uint_as_float(sign | __float_as_uint((float)a * 5.9604644775390625e-8f));
    return __uint_as_float(sign | (a >= 0x7c00 ? 0x7f800000 | (a & 0x3ff) << 13 : (a << 13) + (112u << 23)));
}

static __device__ float value_of(unsigned bits, int kind) {
    return kind == KIND_F16 ? value_of_half(bits) : __uint_as_float(kind == KIND_BF16 ? bits << 16 : bits);
}

// The greater of two values, the second one by its size. A NaN counts for nothing; the CPU stand-in's fmaxf returns signalling ones.
static __device__ float greater(float most, float v) {
    const float size = __uint_as_float(__float_as_uint(v) & 0x7fffffff);
#if defined __HOSTCUDA__
    return size > most ? size : most;
#else
    return fmaxf(most, size);
#endif
}
