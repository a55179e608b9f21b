// C = A * B with columns of C and B and rows of A in a row.
extern "C" __global__ void product(const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *c, int m, int k) {
    __shared__ float ta[16][17], tb[16][17];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.x * 16, column = blockIdx.y * 16;
    float sum = 0;
    for (int i = 0; i < k; i += 16) {
        ta[y][x] = __bfloat162float(a[size_t(row + y) * k + i + x]);
        tb[y][x] = __bfloat162float(b[size_t(column + y) * k + i + x]);
        __syncthreads();
        for (int q = 0; q < 16; q++)
            sum += ta[x][q] * tb[y][q];
        __syncthreads();
    }
    c[size_t(column + y) * m + row + x] = __float2bfloat16(sum);
}
