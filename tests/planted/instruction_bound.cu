// Integer instructions only, enough for every cycle of the schedulers.
//@ kernel  instruction_bound
//@ problem n 4194304
//@ buffer  x u32 n in
//@ buffer  y u32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void instruction_bound(unsigned *y, const unsigned *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    unsigned a = x[i], b = a ^ i, c = a + i;
#pragma unroll 16
    for (int k = 0; k < 512; k++) {
        a = (a ^ b) + 0x9e3779b9u;
        b = b * 747796405u + c;
        c = (c << 5 | c >> 27) * 277803737u + a;
    }
    y[i] = a ^ b ^ c;
}
