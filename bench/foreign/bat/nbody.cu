// BAT's n-body kernel, from KTT, by F. Petrovic and others.
//
//@ kernel    nbody_kernel
//@ problem   n 65536
//@ buffer    bodies f32x4 n in uniform 0 20
//@ buffer    x f32 n in
//@ buffer    y f32 n in
//@ buffer    z f32 n in
//@ buffer    mass f32 n in
//@ buffer    new_bodies f32x4 n out
//@ buffer    vel f32x4 n in uniform 0 20
//@ buffer    vx f32 n in
//@ buffer    vy f32 n in
//@ buffer    vz f32 n in
//@ buffer    new_vel f32x4 n out
//@ scalar    dt f32 0.001
//@ scalar    damping f32 0.5
//@ scalar    softening f32 0.01
//@ param     BLOCK_SIZE 64 128 256 512
//@ param     OUTER_UNROLL_FACTOR 1 2 4 8
//@ param     INNER_UNROLL_FACTOR1 0 1 2 4 8 16 32
//@ param     INNER_UNROLL_FACTOR2 0 1 2 4 8 16 32
//@ param     USE_SOA 0 1
//@ param     LOCAL_MEM 0 1
//@ param     USE_CONSTANT_MEMORY 0
//@ where     INNER_UNROLL_FACTOR1 * INNER_UNROLL_FACTOR2 <= 256
//@ where     INNER_UNROLL_FACTOR2 <= OUTER_UNROLL_FACTOR
//@ where     n % (BLOCK_SIZE * OUTER_UNROLL_FACTOR) = 0
//@ options   --use_fast_math
//@ block     BLOCK_SIZE
//@ grid      n / OUTER_UNROLL_FACTOR / BLOCK_SIZE
//@ args      dt, bodies, x, y, z, mass, new_bodies, vel, vx, vy, vz, new_vel, damping, softening, i32 n
//@ default   BLOCK_SIZE=256 OUTER_UNROLL_FACTOR=1 INNER_UNROLL_FACTOR1=1 INNER_UNROLL_FACTOR2=1 USE_SOA=0 LOCAL_MEM=0 USE_CONSTANT_MEMORY=0
//@ data      split
//@ block     64
//@ grid      ceil_div(n, 64)
//@ args      bodies, x, y, z, mass, vel, vx, vy, vz, i32 n
//@ reference nbody_reference
//@ block     64
//@ grid      ceil_div(n, 64)
//@ args      dt, bodies, new_bodies, vel, new_vel, damping, softening, i32 n
//@ tolerance scale 2e-5

// The same bodies as separate arrays.
extern "C" __global__ void split(const float4 *bodies, float *x, float *y, float *z, float *mass, const float4 *vel, float *vx,
                                 float *vy, float *vz, int n) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= n)
        return;
    x[i] = bodies[i].x, y[i] = bodies[i].y, z[i] = bodies[i].z, mass[i] = bodies[i].w;
    vx[i] = vel[i].x, vy[i] = vel[i].y, vz[i] = vel[i].z;
}

#include "../references/nbody.cuh"

#include "../sources/BAT/batbench/benchmarks/nbody/nbody.cu"
