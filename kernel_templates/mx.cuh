// Scales of MXFP8 blocks. Include cast.cuh before.

// The code of the smallest scale with which `most` does not saturate. Both types end at 1.75 times a power of two.
static __device__ unsigned scale_code(float most, int kind) {
    const int code = (int)((__float_as_uint(most) + 0x1fffff) >> 23) - (kind == KIND_E4M3 ? 8 : 15);
    return code < 0 ? 0 : (unsigned)code;
}

static __device__ float inverse_scale(unsigned code) {
    return __uint_as_float((254 - code) << 23);
}
