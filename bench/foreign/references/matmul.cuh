// C = A B for row-major matrices of 4096 x 4096 floats, in blocks of 16 x 16.
extern "C" __global__ void matmul_reference(float *c, const float *a, const float *b) {
    __shared__ float ta[16][16], tb[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    float sum = 0;
    for (int k0 = 0; k0 < 4096; k0 += 16) {
        ta[y][x] = a[row * 4096 + k0 + x];
        tb[y][x] = b[(k0 + y) * 4096 + col];
        __syncthreads();
        for (int k = 0; k < 16; k++)
            sum += ta[y][k] * tb[k][x];
        __syncthreads();
    }
    c[row * 4096 + col] = sum;
}
