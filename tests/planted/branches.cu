// An interpreter: each step jumps to the code of the next instruction, which is short.
// Expected: branch_bound
//@ kernel  branches
//@ problem n 1048576
//@ buffer  x u32 n in
//@ buffer  y u32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    n / THREADS
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

extern "C" __global__ void branches(unsigned *y, const unsigned *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    unsigned program = x[i / 32], a = x[i];
#pragma unroll 1
    for (int k = 0; k < 512; k++) {
        switch (program >> 29) {
        case 0: a += k; break;
        case 1: a ^= program; break;
        case 2: a = a << 3 | a >> 29; break;
        case 3: a -= 77; break;
        case 4: a = a * 5; break;
        case 5: a |= k << 4; break;
        case 6: a = ~a; break;
        case 7: a ^= a >> 7; break;
        }
        program = program * 747796405u + 2891336453u;
    }
    y[i] = a;
}
