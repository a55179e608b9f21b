// An interpreter: each step calls the function of the next instruction, which is short.
// Expected: branch_bound
//@ kernel  branches
//@ problem n 1048576
//@ buffer  x u32 n in
//@ buffer  y u32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    sm_count
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 8 * n / time_ns

typedef unsigned operation(unsigned a);
__device__ __noinline__ unsigned add(unsigned a) { return a + 77; }
__device__ __noinline__ unsigned turn(unsigned a) { return a << 3 | a >> 29; }
__device__ __noinline__ unsigned mix(unsigned a) { return a ^ a >> 7; }
__device__ __noinline__ unsigned invert(unsigned a) { return ~a; }
__device__ operation *const operations[] = {add, turn, mix, invert};

extern "C" __global__ void branches(unsigned *y, const unsigned *x, int n) {
    __shared__ operation *table[4];
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (threadIdx.x < 4)
        table[threadIdx.x] = operations[threadIdx.x];
    __syncthreads();
    operation *const first = table[x[i / 32] & 3], *const second = table[x[i / 32 + 1] & 3];
    unsigned a = x[i];
#pragma unroll 1
    for (int k = 0; k < 4096; k++)
        a = second(first(a));
    y[i] = a;
}
