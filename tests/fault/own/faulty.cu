// A kernel that is right where F is 0, and else has the fault of that number. The bits of a T are what counts: it may be
// the bits of a half.
//
//@ kernel    faulty
//@ problem   n 1003
//@ type      T f32 i32 u8 f64 f16
//@ buffer    x T n in
//@ buffer    s T n scratch
//@ buffer    y T n out
//@ buffer    z T n inout
//@ runtime   F 0 1 2 3 4 5 6 7 8 9 10 11 12 13
//@ block     128
//@ grid      ceil_div(n, 128)
//@ args      x, s, y, z, i64 n, i32 F
//@ default   F=0
//@ reference right
//@ block     128
//@ grid      ceil_div(n, 128)
//@ args      x, y, z, i64 n

static __device__ void flip(T *at) {
    *(unsigned char *)at ^= 1;
}

extern "C" __global__ void faulty(T *x, T *s, T *y, T *z, long long n, int fault) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    s[i] = x[i];
    if (fault != 2 || i != n - 1)
        y[i] = s[i];
    if (i % 2 == 0)
        z[i] = x[i];
    switch (fault) {
    case 1: return i == 17 ? flip(&y[i]) : (void)0;
    case 3: return i == 5 ? flip(&x[i]) : (void)0;
    case 4: return i == 0 ? flip(&y[-1]) : (void)0;
    case 5: return i == 0 ? flip(&y[n]) : (void)0;
    case 6: return i == 0 ? flip(&x[-1]) : (void)0;
    case 7: return i == 0 ? flip(&x[n]) : (void)0;
    case 8: return i == 0 ? flip(&s[-1]) : (void)0;
    case 9: return i == 0 ? flip(&s[n]) : (void)0;
    case 10: return i == 3 ? flip(&z[i]) : (void)0;
    case 11: return i == 8 ? flip(&z[i]) : (void)0;
    case 12: return i == 0 ? flip(&z[-1]) : (void)0;
    case 13: return i == 0 ? flip(&z[n]) : (void)0;
    }
}

extern "C" __global__ void right(const T *x, T *y, T *z, long long n) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    y[i] = x[i];
    if (i % 2 == 0)
        z[i] = x[i];
}
