// KTT's direct Coulomb summation, by J. Filipovic and others.
//@ kernel    directCoulombSum
//@ problem   size 256
//@ problem   atoms 64
//@ buffer    info f32x4 atoms in uniform 0 20
//@ buffer    x f32 atoms in
//@ buffer    y f32 atoms in
//@ buffer    z f32 atoms in
//@ buffer    w f32 atoms in
//@ buffer    energy f32 size * size * size inout zeros
//@ scalar    spacing f32 0.5
//@ param     WORK_GROUP_SIZE_X 16 32
//@ param     WORK_GROUP_SIZE_Y 1 2 4 8
//@ param     WORK_GROUP_SIZE_Z 1
//@ param     Z_ITERATIONS 1 2 4 8 16 32
//@ param     INNER_UNROLL_FACTOR 0 1 2 4 8 16 32
//@ param     USE_CONSTANT_MEMORY 0
//@ param     USE_SOA 0 1
//@ param     VECTOR_SIZE 1
//@ where     INNER_UNROLL_FACTOR < Z_ITERATIONS
//@ where     WORK_GROUP_SIZE_X * WORK_GROUP_SIZE_Y >= 64
//@ block     WORK_GROUP_SIZE_X, WORK_GROUP_SIZE_Y
//@ grid      ceil_div(size, WORK_GROUP_SIZE_X), ceil_div(size, WORK_GROUP_SIZE_Y), ceil_div(size, Z_ITERATIONS)
//@ args      info, x, y, z, w, i32 atoms, spacing, i32 size, energy
//@ options   --use_fast_math
//@ default   WORK_GROUP_SIZE_X=32 WORK_GROUP_SIZE_Y=4 WORK_GROUP_SIZE_Z=1 Z_ITERATIONS=1 INNER_UNROLL_FACTOR=0 USE_CONSTANT_MEMORY=0 USE_SOA=0 VECTOR_SIZE=1
//@ data      split
//@ block     64
//@ grid      ceil_div(atoms, 64)
//@ args      info, x, y, z, w, i32 atoms
//@ reference plain
//@ block     32, 4
//@ grid      ceil_div(size, 32), ceil_div(size, 4), size
//@ args      info, i32 atoms, spacing, i32 size, energy
//@ tolerance abs 1e-5 rel 1e-3

extern "C" __global__ void split(float4 *info, float *x, float *y, float *z, float *w, int atoms) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < atoms) {
        info[i].w /= 40;
        x[i] = info[i].x, y[i] = info[i].y, z[i] = info[i].z, w[i] = info[i].w;
    }
}

extern "C" __global__ void plain(const float4 *info, int atoms, float spacing, int size, float *energy) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y, z = blockIdx.z;
    if (x >= size || y >= size)
        return;
    float sum = 0;
    for (int i = 0; i < atoms; i++) {
        float dx = spacing * x - info[i].x, dy = spacing * y - info[i].y, dz = spacing * z - info[i].z;
        sum += info[i].w / sqrtf(dx * dx + dy * dy + dz * dz);
    }
    energy[((size_t)z * size + y) * size + x] += sum;
}

#include "../sources/KTT/Examples/CoulombSum3d/CoulombSum3d.cu"
