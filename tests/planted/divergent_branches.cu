// The lanes of a warp take eight ways through the code.
//@ kernel  divergent_branches
//@ problem n 4194304
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void divergent_branches(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    float v = x[i];
    switch (threadIdx.x % 8) {
    case 0:
#pragma unroll 4
        for (int k = 0; k < 128; k++)
            v = v * 1.25f + 0.5f * v * v;
        break;
    case 1:
#pragma unroll 4
        for (int k = 0; k < 128; k++)
            v = v * 2.25f + 1.5f * v * v;
        break;
    case 2:
#pragma unroll 4
        for (int k = 0; k < 128; k++)
            v = v * 3.25f + 2.5f * v * v;
        break;
    case 3:
#pragma unroll 4
        for (int k = 0; k < 128; k++)
            v = v * 4.25f + 3.5f * v * v;
        break;
    case 4:
#pragma unroll 4
        for (int k = 0; k < 128; k++)
            v = v * 5.25f + 4.5f * v * v;
        break;
    case 5:
#pragma unroll 4
        for (int k = 0; k < 128; k++)
            v = v * 6.25f + 5.5f * v * v;
        break;
    case 6:
#pragma unroll 4
        for (int k = 0; k < 128; k++)
            v = v * 7.25f + 6.5f * v * v;
        break;
    case 7:
#pragma unroll 4
        for (int k = 0; k < 128; k++)
            v = v * 8.25f + 7.5f * v * v;
        break;
    }
    y[i] = v;
}
