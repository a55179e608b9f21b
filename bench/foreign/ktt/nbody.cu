// KTT's n-body kernel, by F. Petrovic, J. Filipovic and others.
//@ kernel    nbody_kernel
//@ problem   n 32768
//@ buffer    info f32x4 n in uniform 0 20
//@ buffer    velocity f32x4 n in uniform 0 20
//@ buffer    px f32 n in
//@ buffer    py f32 n in
//@ buffer    pz f32 n in
//@ buffer    mass f32 n in
//@ buffer    vx f32 n in
//@ buffer    vy f32 n in
//@ buffer    vz f32 n in
//@ buffer    new_info f32x4 n out
//@ buffer    new_velocity f32x4 n out
//@ scalar    dt f32 0.001
//@ scalar    damping f32 0.5
//@ scalar    softening f32 0.01
//@ param     WORK_GROUP_SIZE_X 16 32 64 128 256 512
//@ param     WORK_GROUP_SIZE_Y 1 2 4 8 16
//@ param     OUTER_UNROLL_FACTOR 1 2 4 8
//@ param     INNER_UNROLL_FACTOR1 0 1 2 4 8 16 32
//@ param     INNER_UNROLL_FACTOR2 0 1 2 4 8 16 32
//@ param     USE_SOA 0 1
//@ param     LOCAL_MEM 0 1
//@ param     USE_CONSTANT_MEMORY 0
//@ param     VECTOR_TYPE 1 2 4
//@ let       threads WORK_GROUP_SIZE_X * WORK_GROUP_SIZE_Y
//@ where     INNER_UNROLL_FACTOR2 <= OUTER_UNROLL_FACTOR
//@ where     INNER_UNROLL_FACTOR1 * INNER_UNROLL_FACTOR2 <= 256
//@ where     USE_SOA = 1 OR VECTOR_TYPE = 1
//@ where     threads BETWEEN 64 AND 1024
// Ours: shared memory of fixed size, and equal work for the rows of a block, which meet at a barrier.
//@ where     threads * VECTOR_TYPE * (16 * LOCAL_MEM + iif(WORK_GROUP_SIZE_Y > 1, 12 * OUTER_UNROLL_FACTOR, 0)) <= 49152
//@ where     n % (threads * VECTOR_TYPE) = 0 AND n % (WORK_GROUP_SIZE_X * OUTER_UNROLL_FACTOR) = 0
//@ block     WORK_GROUP_SIZE_X, WORK_GROUP_SIZE_Y
//@ grid      n / OUTER_UNROLL_FACTOR / WORK_GROUP_SIZE_X
//@ args      dt, info, px, py, pz, mass, new_info, velocity, vx, vy, vz, new_velocity, damping, softening, i32 n
//@ options   --use_fast_math
//@ default   WORK_GROUP_SIZE_X=64 WORK_GROUP_SIZE_Y=1 OUTER_UNROLL_FACTOR=1 INNER_UNROLL_FACTOR1=0 INNER_UNROLL_FACTOR2=0 USE_SOA=0 LOCAL_MEM=1 USE_CONSTANT_MEMORY=0 VECTOR_TYPE=1
//@ data      split
//@ block     64
//@ grid      ceil_div(n, 64)
//@ args      info, velocity, px, py, pz, mass, vx, vy, vz, i32 n
//@ reference nbody_reference
//@ block     64
//@ grid      ceil_div(n, 64)
//@ args      dt, info, new_info, velocity, new_velocity, damping, softening, i32 n
//@ tolerance scale 1e-5

extern "C" __global__ void split(const float4 *info, float4 *velocity, float *px, float *py, float *pz, float *mass, float *vx,
                                 float *vy, float *vz, int n) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) {
        velocity[i].w = 0;
        px[i] = info[i].x, py[i] = info[i].y, pz[i] = info[i].z, mass[i] = info[i].w;
        vx[i] = velocity[i].x, vy[i] = velocity[i].y, vz[i] = velocity[i].z;
    }
}

#include "../references/nbody.cuh"

#if VECTOR_TYPE == 1
typedef float vector;
#elif VECTOR_TYPE == 2
typedef float2 vector;
#else
typedef float4 vector;
#endif
extern "C" __global__ void nbody_kernel(float, float4 *, vector *, vector *, vector *, vector *, float4 *, float4 *, vector *, vector *,
                                        vector *, float4 *, float, float, int);
#include "../sources/KTT/Examples/Nbody/Nbody.cu"
