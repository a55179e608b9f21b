// Straight code of a quarter of a megabyte, which no instruction cache holds.
//@ kernel  instruction_cache
//@ problem n 524288
//@ buffer  x u32 n in
//@ buffer  y u32 n out
//@ param   THREADS 128
//@ block   THREADS
//@ grid    4 * sm_count
//@ args    y, x, i32 n
//@ default THREADS=128
//@ metric  gbps 8 * n / time_ns

#define ONE(k) a = (a ^ (k * 2654435761u)) * 747796405u + b, b = (b + (k * 40503u + 977u)) ^ a;
#define FOUR(k) ONE(k) ONE(k + 1) ONE(k + 2) ONE(k + 3)
#define MANY(k) FOUR(k) FOUR(k + 4) FOUR(k + 8) FOUR(k + 12) FOUR(k + 16) FOUR(k + 20) FOUR(k + 24) FOUR(k + 28)
#define LOTS(k) MANY(k) MANY(k + 32) MANY(k + 64) MANY(k + 96) MANY(k + 128) MANY(k + 160) MANY(k + 192) MANY(k + 224)
#define ALL(k) LOTS(k) LOTS(k + 256) LOTS(k + 512) LOTS(k + 768) LOTS(k + 1024) LOTS(k + 1280) LOTS(k + 1536) LOTS(k + 1792)

extern "C" __global__ void instruction_cache(unsigned *y, const unsigned *x, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    unsigned a = x[i], b = a + i;
#pragma unroll 1
    for (int round = 0; round < 4; round++) {
        ALL(1)
        ALL(5001)
    }
    y[i] = a ^ b;
}
