// The kernels of permute_any.cuh: where a block's tile begins, and tables of its rows and runs in shared memory.

#ifdef __HOSTCUDA__
#define PERMUTE_ANY_ARGUMENT const permute_any
#else
#define PERMUTE_ANY_ARGUMENT const __grid_constant__ permute_any
#endif

// n / d for n < 2^16, with the multiplier of d. That of 1 is 0.
static __device__ unsigned any_div(unsigned n, unsigned multiplier) {
    return multiplier ? __umulhi(n, multiplier) : n;
}

struct any_start {
    long long src, dst; // of the tile's first element
    unsigned cut;       // bits of dimensions of which this is the last tile
};
static __device__ any_start any_start_of(const permute_any &a, unsigned rest) {
    any_start s = {0, 0, 0};
#pragma unroll 1
    for (unsigned i = 0; i < a.n_outer; i++) {
        const unsigned tiles = a.outer[i].tiles, next = __umulhi(rest, a.outer[i].multiplier) >> a.outer[i].shift;
        const unsigned index = rest - next * tiles;
        s.src += index * a.outer[i].src;
        s.dst += index * a.outer[i].dst;
        s.cut |= index + 1 == tiles ? a.outer[i].cut : 0;
        rest = next;
    }
    return s;
}
static __device__ unsigned any_count(const permute_count &c, const any_start &s) {
    return s.cut & c.cut ? c.left : c.all;
}

// What index `rest` of the dimensions from `first` to `end` adds to two numbers, and bits of last tiles that do not have it.
struct any_place {
    unsigned first, second, beyond;
};
static __device__ any_place any_walk(const permute_any &a, unsigned first, unsigned end, unsigned rest) {
    any_place p = {0, 0, 0};
#pragma unroll 1
    for (unsigned i = first; i < end; i++) {
        const unsigned next = any_div(rest, a.inner[i].multiplier), index = rest - next * a.inner[i].size;
        p.first += index * a.inner[i].first;
        const unsigned second = a.inner[i].second;
        p.second += index * (second & PERMUTE_ANY_BELOW);
        p.beyond |= index >= a.inner[i].left ? second & ~PERMUTE_ANY_BELOW : 0;
        rest = next;
    }
    return p;
}

// The first warp works out where the tile begins. Meanwhile `fill(i)` fills entry `i` of the tables.
template <class FILL> static __device__ any_start any_prepare(const permute_any &a, unsigned entries, FILL fill) {
    __shared__ any_start start;
    if (threadIdx.x < 32) {
        const any_start s = any_start_of(a, blockIdx.x);
        if (threadIdx.x == 0)
            start = s;
    } else
        for (unsigned i = threadIdx.x - 32; i < entries; i += THREADS - 32)
            fill(i);
    __syncthreads();
    return start;
}
