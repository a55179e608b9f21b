// KTT's transpose, by J. Filipovic and others. Its variants agree for square matrices only.
//@ kernel    mtran
//@ problem   n 8192
//@ buffer    dst f32 n * n out
//@ buffer    src f32 n * n in uniform 0 10
//@ param     VECTOR_TYPE 1 2 4
//@ param     CR 0 1
//@ param     LOCAL_MEM 0 1
//@ param     PADD_LOCAL 0 1
//@ param     WORK_GROUP_SIZE_X 1 2 4 8 16 32 64
//@ param     WORK_GROUP_SIZE_Y 1 2 4 8 16 32 64
//@ param     TILE_SIZE_X 1 2 4 8 16 32 64
//@ param     TILE_SIZE_Y 1 2 4 8 16 32 64
//@ param     DIAGONAL_MAP 0 1
//@ where     TILE_SIZE_X = WORK_GROUP_SIZE_X
//@ where     WORK_GROUP_SIZE_Y <= TILE_SIZE_Y AND TILE_SIZE_Y % WORK_GROUP_SIZE_Y = 0
//@ where     LOCAL_MEM = 0 OR TILE_SIZE_Y <= WORK_GROUP_SIZE_X * WORK_GROUP_SIZE_Y
//@ where     LOCAL_MEM = 1 OR PADD_LOCAL = 0
//@ where     LOCAL_MEM = 0 OR VECTOR_TYPE = 1
//@ where     TILE_SIZE_X * VECTOR_TYPE <= 64
//@ where     WORK_GROUP_SIZE_X * WORK_GROUP_SIZE_Y >= 32
//@ where     n % (TILE_SIZE_X * VECTOR_TYPE) = 0 AND n % TILE_SIZE_Y = 0
//@ block     WORK_GROUP_SIZE_X, WORK_GROUP_SIZE_Y
//@ grid      n / TILE_SIZE_X / VECTOR_TYPE, n / TILE_SIZE_Y
//@ args      dst, src, i32 n, i32 n
//@ default   VECTOR_TYPE=1 CR=0 LOCAL_MEM=1 PADD_LOCAL=1 WORK_GROUP_SIZE_X=32 WORK_GROUP_SIZE_Y=8 TILE_SIZE_X=32 TILE_SIZE_Y=32 DIAGONAL_MAP=0
//@ reference plain
//@ block     32, 8
//@ grid      ceil_div(n, 32), ceil_div(n, 8)
//@ args      dst, src, i32 n
//@ metric    gbps 8 * n * n / time_ns

extern "C" __global__ void plain(float *dst, const float *src, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x < n && y < n)
        dst[(size_t)y * n + x] = src[(size_t)x * n + y];
}

#include "../sources/KTT/Examples/Transpose/Transpose.cu"
