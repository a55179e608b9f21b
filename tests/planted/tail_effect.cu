// After a full wave of blocks, an eighth of a wave runs alone.
//@ kernel  tail_effect
//@ problem n 16777216
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 1024
//@ block   THREADS
//@ grid    2 * sm_count + sm_count / 4
//@ args    y, x, i32 n
//@ default THREADS=1024
//@ metric  gbps 8 * THREADS * (2 * sm_count + sm_count / 4) / time_ns

extern "C" __global__ void tail_effect(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    float a = x[i], b = a + 1, c = a + 2, d = a + 3;
#pragma unroll 16
    for (int k = 0; k < 4096; k++) {
        a = a * b + c;
        b = b * c + d;
        c = c * d + a;
        d = d * a + b;
    }
    y[i] = a + b + c + d;
}
