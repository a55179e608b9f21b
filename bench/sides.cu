// Which half of the L2 cache an address belongs to, and what moves how fast when blocks keep to one half: for
// bench/sides.py. An atomic operation is carried out where its address belongs, so its latency tells.

typedef unsigned int u32;
typedef unsigned long long u64;

static __device__ u32 sm() {
    u32 id;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    return id;
}

// Cycles, the least of three behind one that fetches the line.
static __device__ u32 latency(u32 *p) {
    volatile __shared__ u32 arrived;
    u32 least = ~0u, v;
    atomicAdd(p, 0);
    for (int k = 0; k < 3; k++) {
        const long long begin = clock64();
        asm volatile("atom.global.add.u32 %0, [%1], 0;" : "=r"(v) : "l"(p) : "memory");
        arrived = v; // the clock is read behind it
        least = min(least, (u32)(clock64() - begin));
    }
    return least;
}

// Of n lines from each SM: blocks of one thread, one for each SM.
extern "C" __global__ void latencies(u32 *from, const u64 *lines, u32 n, u32 *cycles, u32 *sms) {
    sms[blockIdx.x] = sm();
    for (u32 k = 0; k < n; k++) {
        const u32 i = (k + blockIdx.x * 37) % n; // not all the same one at once
        cycles[(u64)blockIdx.x * n + i] = latency(from + lines[i] * 32);
    }
}

// Of every `stride`-th line, from an SM of each half, one of which begins in the middle: the SM with number[SM] = k takes the
// k-th of every `n_each` lines.
extern "C" __global__ void map_lines(u32 *from, u64 n, u32 stride, const int *half, const int *number, u32 n_each,
                                     u32 *cycles) {
    if (number[sm()] >= 0)
        for (u64 k = number[sm()]; k < n; k += n_each) {
            const u64 i = half[sm()] ? (k + n / 2) % n : k;
            cycles[half[sm()] * n + i] = latency(from + i * stride * 32);
        }
}

// A copy of granules of 4 KB in lists, one for each half of the SMs, whose blocks share it out. Or, of a copy,
// reading alone, or writing.
extern "C" __global__ void __launch_bounds__(256)
    move(uint4 *dst, const uint4 *src, const u32 *to, const u32 *from, u32 n, const int *half, const u32 *blocks,
         u32 *begun) {
    __shared__ u32 mine, nth;
    if (threadIdx.x == 0) {
        mine = half[sm()];
        nth = atomicAdd(&begun[mine], 1);
    }
    __syncthreads();
    uint4 v[4] = {}, sum = make_uint4(0, 0, 0, 0);
    for (u32 i = nth * 4; i + 3 < n; i += blocks[mine] * 4) {
#if READ
#pragma unroll
        for (int k = 0; k < 4; k++)
            v[k] = src[(u64)from[mine * n + i + k] * 256 + threadIdx.x];
#endif
#pragma unroll
        for (int k = 0; k < 4; k++) {
#if WRITE
            dst[(u64)to[mine * n + i + k] * 256 + threadIdx.x] = v[k];
#else
            sum = make_uint4(sum.x ^ v[k].x, sum.y ^ v[k].y, sum.z ^ v[k].z, sum.w ^ v[k].w);
#endif
        }
    }
    if (!WRITE && sum.x == 1 && sum.y == 2 && sum.z == 3 && sum.w == 4) // or else nothing is read
        dst[0] = sum;
}
