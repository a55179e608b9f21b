// Transposes tiles through shared memory with padded rows: barriers and shared memory, but neither is the limit.
// Expected: memory_bound
//@ kernel  padded_transpose
//@ problem n 8192
//@ buffer  x f32 n*n in
//@ buffer  y f32 n*n out
//@ param   TILE 64
//@ block   TILE, 8
//@ grid    n / TILE, n / TILE
//@ args    y, x, i32 n
//@ default TILE=64
//@ metric  gbps 8 * n * n / time_ns

extern "C" __global__ void padded_transpose(float *y, const float *x, int n) {
    __shared__ float tile[TILE][TILE + 1];
    const int column = blockIdx.y * TILE + threadIdx.x, row = blockIdx.x * TILE + threadIdx.y;
#pragma unroll
    for (int k = 0; k < TILE; k += 8)
        tile[threadIdx.y + k][threadIdx.x] = x[(long long)(row + k) * n + column];
    __syncthreads();
    const int out_column = blockIdx.x * TILE + threadIdx.x, out_row = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
    for (int k = 0; k < TILE; k += 8)
        y[(long long)(out_row + k) * n + out_column] = tile[threadIdx.x][threadIdx.y + k];
}
