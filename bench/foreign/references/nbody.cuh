// One step of n bodies (x, y, z, mass), in blocks of 64.
extern "C" __global__ void nbody_reference(float dt, const float4 *bodies, float4 *new_bodies, const float4 *vel, float4 *new_vel,
                                           float damping, float softening, int n) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= n)
        return;
    float4 p = bodies[i], v = vel[i];
    float ax = 0, ay = 0, az = 0;
    for (int j = 0; j < n; j++) {
        float4 q = bodies[j];
        float x = q.x - p.x, y = q.y - p.y, z = q.z - p.z, r = rsqrtf(x * x + y * y + z * z + softening), f = q.w * r * r * r;
        ax += x * f, ay += y * f, az += z * f;
    }
    float h = damping * dt * dt;
    new_bodies[i] = make_float4(p.x + dt * v.x + h * ax, p.y + dt * v.y + h * ay, p.z + dt * v.z + h * az, p.w);
    new_vel[i] = make_float4(v.x + dt * ax, v.y + dt * ay, v.z + dt * az, 0);
}
