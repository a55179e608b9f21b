// A number times a factor, bit for bit the same in the reference of transpose_scaled and its template: no product is left that
// the compiler could fuse with a sum.

struct factors {
    T alpha[2], beta[2];
};

static __device__ float fused(float a, float b, float c) {
    return fmaf(a, b, c);
}
static __device__ double fused(double a, double b, double c) {
    return fma(a, b, c);
}

// *to becomes alpha * *x or, with two terms, alpha * *x + beta * *to. Form 2 conjugates *x.
static __device__ void scale(T *to, const T *x, const factors &f, int parts, int terms, int form) {
    const T *alpha = f.alpha, *beta = f.beta;
    T real = alpha[0] * x[0], imag = 0;
    if (parts == 2) {
        const T xi = form == 2 ? -x[1] : x[1];
        real = fused(-alpha[1], xi, real);
        imag = fused(alpha[1], x[0], alpha[0] * xi);
    }
    if (terms == 2) {
        real = fused(beta[0], to[0], real);
        if (parts == 2) {
            imag = fused(beta[1], to[0], fused(beta[0], to[1], imag));
            real = fused(-beta[1], to[1], real);
        }
    }
    to[0] = real;
    if (parts == 2)
        to[1] = imag;
}
