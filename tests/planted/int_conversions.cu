// Each step turns a float into a whole number and back.
// Expected: conversions
//@ kernel  int_conversions
//@ problem n 4194304
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void int_conversions(float *y, const float *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    float v = x[i];
    int sum = 0;
#pragma unroll 8
    for (int k = 0; k < 256; k++) {
        const int rounded = __float2int_rn(v);
        sum += rounded;
        v = (float)(sum & 0xffff) + 0.75f;
    }
    y[i] = v;
}
