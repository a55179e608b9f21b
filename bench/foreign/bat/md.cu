// BAT's molecular dynamics kernel (Lennard-Jones forces), from SHOC, by K. Spafford and others.
//
//@ kernel    compute_lj_force
//@ problem   n 73728
//@ problem   neighbors 128
//@ buffer    force f32x3 n out
//@ buffer    position f32x4 n in uniform 0 5
//@ buffer    list i32 neighbors * n in uniform 0 n-1
//@ scalar    cutsq f32 16
//@ scalar    lj1 f32 1.5
//@ scalar    lj2 f32 2
//@ param     BLOCK_SIZE 32 64 128 256 512 1024
//@ param     TEXTURE_MEMORY 0
//@ param     WORK_PER_THREAD 1 2 3 4 5 6 7 8 9 10
//@ block     BLOCK_SIZE
// The authors round down, which leaves atoms out.
//@ grid      ceil_div(n, BLOCK_SIZE * WORK_PER_THREAD)
//@ args      force, position, i32 neighbors, list, cutsq, lj1, lj2, i32 n
//@ default   BLOCK_SIZE=256 TEXTURE_MEMORY=0 WORK_PER_THREAD=1
//@ data      part_neighbors
//@ block     256
//@ grid      ceil_div(neighbors * n, 256)
//@ args      position, list, i32 neighbors, i32 n
//@ reference md_reference
//@ block     256
//@ grid      ceil_div(n, 256)
//@ args      force, position, i32 neighbors, list, cutsq, lj1, lj2, i32 n
//@ tolerance scale 1e-4

// Neighbors at a distance of 1 at least, so that no force is huge.
extern "C" __global__ void part_neighbors(const float4 *position, int *list, int neighbors, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= neighbors * n)
        return;
    float4 p = position[i % n];
    for (int tries = 0, j = list[i]; tries < n; tries++, j = (j + 1) % n) {
        float x = p.x - position[j].x, y = p.y - position[j].y, z = p.z - position[j].z;
        if (x * x + y * y + z * z >= 1) {
            list[i] = j;
            break;
        }
    }
}

extern "C" __global__ void md_reference(float *force, const float4 *position, int neighbors, const int *list, float cutsq,
                                        float lj1, float lj2, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    float fx = 0, fy = 0, fz = 0;
    for (int j = 0; j < neighbors; j++) {
        float4 p = position[i], q = position[list[j * n + i]];
        float x = p.x - q.x, y = p.y - q.y, z = p.z - q.z, r2 = x * x + y * y + z * z;
        if (r2 < cutsq) {
            float r6 = 1 / (r2 * r2 * r2), f = r6 * (lj1 * r6 - lj2) / r2;
            fx += x * f, fy += y * f, fz += z * f;
        }
    }
    force[3 * i] = fx, force[3 * i + 1] = fy, force[3 * i + 2] = fz;
}

#include "../sources/BAT/batbench/benchmarks/others/MD/md_kernel.cu"
