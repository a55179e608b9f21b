// Products of small matrices on the tensor cores, with all numbers in registers.
//@ kernel  tensor_bound
//@ problem n 4194304
//@ buffer  x u32 n in
//@ buffer  y f32 n out
//@ param   THREADS 256
//@ block   THREADS
//@ grid    8 * sm_count
//@ args    y, x, i32 n
//@ default THREADS=256
//@ metric  gbps 4 * n / time_ns

extern "C" __global__ void tensor_bound(float *y, const unsigned *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    const unsigned a0 = x[i] & 0x3c003c00, a1 = a0 ^ 0x00100010, b0 = a0 ^ 0x00200020, b1 = a0 ^ 0x00300030;
    float sums[8][4] = {};
#pragma unroll 1
    for (int round = 0; round < 1024; round++)
#pragma unroll
        for (int k = 0; k < 8; k++)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                         "{%0,%1,%2,%3};"
                         : "+f"(sums[k][0]), "+f"(sums[k][1]), "+f"(sums[k][2]), "+f"(sums[k][3])
                         : "r"(a0), "r"(a1), "r"(a0), "r"(a1), "r"(b0), "r"(b1));
    float sum = 0;
    for (int k = 0; k < 8; k++)
        sum += sums[k][0] + sums[k][1] + sums[k][2] + sums[k][3];
    y[i] = sum;
}
