// A softmax of rows of 1024, with a block for each.
// Expected: memory_bound
//@ kernel  softmax
//@ problem n 67108864
//@ buffer  x f32x4 n/4 in
//@ buffer  y f32x4 n/4 out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / 1024
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void softmax(float4 *y, const float4 *x, int n) {
    __shared__ float sums[8];
    const int i = blockIdx.x * THREADS + threadIdx.x;
    float4 v = x[i];
    v = make_float4(__expf(v.x), __expf(v.y), __expf(v.z), __expf(v.w));
    float sum = v.x + v.y + v.z + v.w;
    for (int s = 16; s; s /= 2)
        sum += __shfl_xor_sync(~0u, sum, s);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (int k = 0; k < 8; k++)
        sum += sums[k];
    const float f = 1 / sum;
    y[i] = make_float4(v.x * f, v.y * f, v.z * f, v.w * f);
}
