// Reads shared memory without conflicts, more than anything else.
//@ kernel  shared_bound
//@ problem n 2097152
//@ buffer  x f32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void shared_bound(float *y, const float *x, int n) {
    __shared__ float4 tile[512];
    const int i = blockIdx.x * THREADS + threadIdx.x;
    tile[threadIdx.x] = make_float4(x[i], 1, 2, 3);
    tile[threadIdx.x + 256] = make_float4(x[i], 4, 5, 6);
    __syncthreads();
    float sum = 0;
#pragma unroll 8
    for (int k = 0; k < 256; k++) {
        const float4 v = tile[(threadIdx.x + k * 8) % 512];
        sum += v.x + v.y + v.z + v.w;
    }
    y[i] = sum;
}
