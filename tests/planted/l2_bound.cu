// Each block reads the same 8 MB, from another place on, so the L2 cache gives all of it.
//@ kernel  l2_bound
//@ problem n 2097152
//@ buffer  x f32x4 n/4 in
//@ buffer  y f32 n out
//@ param   THREADS 512
//@ block   THREADS
//@ grid    4 * sm_count
//@ args    y, x, i32 n
//@ default THREADS=512
//@ metric  gbps 4 * n * sm_count / time_ns

extern "C" __global__ void l2_bound(float *y, const float4 *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x, many = n / 4;
    float sum = 0;
#pragma unroll 8
    for (int k = 0; k < 256; k++) {
        const float4 v = __ldcg(&x[(i + k * THREADS * 37) % many]);
        sum += v.x + v.y + v.z + v.w;
    }
    y[i] = sum;
}
