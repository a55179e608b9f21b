/* Three, everywhere: what is right is in a file. */
extern "C" __global__ void threes(float4 *out) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = make_float4(3, 3, 3, 3);
}
