// Moves particles that are stored as a structure of arrays: a vector of floats for each of the six fields that a step
// in time needs. The vectors of mass and charge are not touched. aos.cu does the same with an array of structures.
//
// Neighbouring threads read neighbouring floats, so every byte of a line is used. A thread moves VEC particles, with
// one access of VEC floats to each vector.
//
//@ kernel    move_soa
//@ problem   n 33554432
//@ buffer    x f32 n inout normal
//@ buffer    y f32 n inout normal
//@ buffer    z f32 n inout normal
//@ buffer    vx f32 n in normal
//@ buffer    vy f32 n in normal
//@ buffer    vz f32 n inout normal
//@ scalar    dt f32 0.001
//@ param     VEC     1 2 4
//@ param     THREADS 64 128 256 512 1024
//@ block     THREADS
//@ grid      ceil_div(n, THREADS * VEC)
//@ args      x, y, z, vx, vy, vz, dt, i64 n
//@ default   VEC=1 THREADS=256
//@ reference move_reference
//@ block     256
//@ grid      ceil_div(n, 256)
//@ args      x, y, z, vx, vy, vz, dt, i64 n
//@ tolerance abs 1e-6 rel 1e-6
//@ metric    gbps 40 * n / time_ns

struct __align__(4 * VEC) pack {
    float v[VEC];
};
#define GRAVITY -9.81f

static __device__ void move(float &x, float &y, float &z, float vx, float vy, float &vz, float dt) {
    vz += GRAVITY * dt;
    x += vx * dt;
    y += vy * dt;
    z += vz * dt;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    move_soa(float *__restrict__ x, float *__restrict__ y, float *__restrict__ z,
             const float *__restrict__ vx, const float *__restrict__ vy, float *__restrict__ vz, float dt,
             long long n) {
    const long long i = ((long long)blockIdx.x * THREADS + threadIdx.x) * VEC;
    if (i + VEC <= n) {
        pack px = *(pack *)&x[i], py = *(pack *)&y[i], pz = *(pack *)&z[i];
        const pack pvx = *(const pack *)&vx[i], pvy = *(const pack *)&vy[i];
        pack pvz = *(pack *)&vz[i];
#pragma unroll
        for (int e = 0; e < VEC; e++)
            move(px.v[e], py.v[e], pz.v[e], pvx.v[e], pvy.v[e], pvz.v[e], dt);
        *(pack *)&x[i] = px;
        *(pack *)&y[i] = py;
        *(pack *)&z[i] = pz;
        *(pack *)&vz[i] = pvz;
    } else {
        for (long long e = i; e < n; e++)
            move(x[e], y[e], z[e], vx[e], vy[e], vz[e], dt);
    }
}

extern "C" __global__ void move_reference(float *x, float *y, float *z, const float *vx, const float *vy,
                                          float *vz, float dt, long long n) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        move(x[i], y[i], z[i], vx[i], vy[i], vz[i], dt);
}
