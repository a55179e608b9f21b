// Divides whole numbers by a constant, which takes a multiplication: as fast as memory.
// Expected: memory_bound
//@ kernel  division_by_constant
//@ problem n 67108864
//@ buffer  x u32x4 n/4 in
//@ buffer  y u32x4 n/4 out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS / 8
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void division_by_constant(uint4 *y, const uint4 *x, int n) {
    const int i = blockIdx.x * THREADS * 2 + threadIdx.x;
    const uint4 a = x[i], b = x[i + THREADS];
    y[i] = make_uint4(a.x / 77, a.y / 77, a.z % 1000, a.w / 77);
    y[i + THREADS] = make_uint4(b.x / 77, b.y / 77, b.z % 1000, b.w / 77);
}
