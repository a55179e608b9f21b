// Results that are off by something, within the tolerance or beyond it; NaN, infinity and zero among them.
//
//@ kernel    close
//@ problem   n 128
//@ buffer    x f32 n in uniform 1 2
//@ buffer    y f32 n out
//@ buffer    counts i32 n out
//@ buffer    small u8 n out
//@ runtime   F 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
//@ block     128
//@ grid      1
//@ args      x, y, counts, small, i32 F
//@ default   F=0
//@ reference right
//@ block     128
//@ grid      1
//@ args      x, y, counts, small, i32 0
//@ tolerance abs 2 rel 0.01
//@ tolerance counts abs 2 rel 0.01
//@ tolerance small abs 2

#define NOT_A_NUMBER __uint_as_float(0x7fffffffu)
#define INFINITE __uint_as_float(0x7f800000u)

static __device__ void compute(const float *x, float *y, int *counts, unsigned char *small, int fault) {
    const int i = threadIdx.x;
    y[i] = i == 100   ? (fault == 6 ? 1 : fault == 11 ? __uint_as_float(0xffc00001u) : NOT_A_NUMBER)
           : i == 101 ? (fault == 8 ? -INFINITE : fault == 9 ? 3e38f : INFINITE)
           : i == 102 ? (fault == 3 ? 1.5f : fault == 4 ? 2.5f : fault == 5 ? -0.0f : 0.0f)
           : i == 103 ? (fault == 1 ? 1009.0f : fault == 2 ? 1011.0f : fault == 7 ? NOT_A_NUMBER : fault == 10 ? INFINITE : 1000.0f)
                      : x[i];
    counts[i] = i - 64 + (i == 60 && fault == 12 ? 2 : i == 60 && fault == 13 ? -3 : 0);
    small[i] = (unsigned char)(i == 9 && fault == 14 ? 7 : i == 9 && fault == 15 ? 6 : i == 0 && fault == 16 ? 255 : i);
}

extern "C" __global__ void close(const float *x, float *y, int *counts, unsigned char *small, int fault) {
    compute(x, y, counts, small, fault);
}

extern "C" __global__ void right(const float *x, float *y, int *counts, unsigned char *small, int fault) {
    compute(x, y, counts, small, fault);
}
