// Moves particles that are stored as an array of structures of eight floats. A step in time reads six floats of each
// particle and writes four. soa.cu does the same with a structure of arrays.
//
// Neighbouring threads work on neighbouring particles, 32 bytes apart. ACCESS says how particles get to registers.
// fields: a float at a time. An access of a warp touches 32 sectors and uses 4 bytes of each.
// vectors: two float4. The sectors are the same, but there are two accesses instead of six.
// staged: through shared memory. The block copies its particles there by whole lines.
// Mass and charge are always moved, too, because memory is read and written in sectors of 32 bytes.
//
//@ kernel    move_aos
//@ problem   n 33554432
//@ buffer    particles f32 8 * n inout normal
//@ scalar    dt f32 0.001
//@ param     ACCESS  fields vectors staged
//@ param     THREADS 64 128 256 512 1024
//@ block     THREADS
//@ grid      ceil_div(n, THREADS)
//@ args      particles, dt, i64 n
//@ default   ACCESS=fields THREADS=256
//@ reference move_reference
//@ block     256
//@ grid      ceil_div(n, 256)
//@ args      particles, dt, i64 n
//@ tolerance abs 1e-6 rel 1e-6
//@ metric    gbps 40 * n / time_ns

struct particle {
    float x, y, z, mass;
    float vx, vy, vz, charge;
};
union whole {
    particle p;
    float4 v[2];
};
enum { fields, vectors, staged };
#define GRAVITY -9.81f

static __device__ void move(particle &p, float dt) {
    p.vz += GRAVITY * dt;
    p.x += p.vx * dt;
    p.y += p.vy * dt;
    p.z += p.vz * dt;
}

extern "C" __global__ void __launch_bounds__(THREADS) move_aos(particle *particles, float dt, long long n) {
    const long long first = (long long)blockIdx.x * THREADS; // particle of this block
    const long long i = first + threadIdx.x;

    if (ACCESS == fields && i < n)
        move(particles[i], dt);
    if (ACCESS == vectors && i < n) {
        float4 *at = (float4 *)&particles[i];
        whole w;
        w.v[0] = at[0];
        w.v[1] = at[1];
        move(w.p, dt);
        at[0] = w.v[0];
        at[1] = w.v[1];
    }
    if (ACCESS == staged) {
        __shared__ float4 halves[2][THREADS + 1];
        float4 *block = (float4 *)&particles[first];
        const long long count = min(2 * (n - first), (long long)(2 * THREADS));
#pragma unroll
        for (int h = threadIdx.x; h < 2 * THREADS; h += THREADS)
            if (h < count)
                halves[h % 2][h / 2] = block[h];
        __syncthreads();
        whole w;
        w.v[0] = halves[0][threadIdx.x];
        w.v[1] = halves[1][threadIdx.x];
        move(w.p, dt);
        halves[0][threadIdx.x] = w.v[0];
        halves[1][threadIdx.x] = w.v[1];
        __syncthreads();
#pragma unroll
        for (int h = threadIdx.x; h < 2 * THREADS; h += THREADS)
            if (h < count)
                block[h] = halves[h % 2][h / 2];
    }
}

extern "C" __global__ void move_reference(particle *particles, float dt, long long n) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        move(particles[i], dt);
}
