// Transposes and copies by bulk copies between global and shared memory: drafts that lost, kept for
// bench/bulk.py.
//
// transpose_bulk: a cluster of CLUSTER blocks carries square tiles of TILE x TILE elements, of which each
// block has as many rows. They come in row by row or, with TENSOR, whole; are turned in place, through
// registers and the shared memory of the whole cluster; and leave the same way. A block has STAGES of them
// under way and stays until all are done. KEEP reads with the priority evict_last and does not let go. With
// PHASES all blocks read, and then all write, in turn.
//
// copy_bulk: the same of CHUNK bytes, READ or WRITE alone or both.

typedef unsigned int u32;
typedef unsigned long long u64;

extern __shared__ __align__(128) unsigned char held[];

static __device__ u32 shared_address(const void *p) {
    return (u32)__cvta_generic_to_shared(p);
}
static __device__ void make_barriers(u32 bars) {
    for (int s = 0; s < STAGES; s++)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bars + 8 * s) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async;" ::: "memory");
}
static __device__ void expect(u32 bar, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
static __device__ void wait_for(u32 bar, u32 parity) {
    u32 done = 0;
    while (!done)
        asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, "
                     "1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(bar), "r"(parity)
                     : "memory");
}
static __device__ u64 policy() {
    u64 p;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(p));
    return p;
}
#define TO_SHARED      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
#define TILE_TO_SHARED "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
static __device__ void bulk_in(u32 to, const void *from, u32 bytes, u32 bar) {
#if KEEP
    asm volatile(TO_SHARED ".L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(to), "l"(from), "r"(bytes),
                 "r"(bar), "l"(policy())
                 : "memory");
#else
    asm volatile(TO_SHARED " [%0], [%1], %2, [%3];" ::"r"(to), "l"(from), "r"(bytes), "r"(bar) : "memory");
#endif
}
static __device__ void box_in(u32 to, const void *map, u32 x, u32 y, u32 bar) {
#if KEEP
    asm volatile(TILE_TO_SHARED ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to), "l"(map), "r"(x),
                 "r"(y), "r"(bar), "l"(policy())
                 : "memory");
#else
    asm volatile(TILE_TO_SHARED " [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(bar)
                 : "memory");
#endif
}
static __device__ void bulk_out(void *to, u32 from, u32 bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from),
                 "r"(bytes)
                 : "memory");
}
static __device__ void commit() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
static __device__ void all_written() {
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
static __device__ void all_but_last_read() {
    asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
}

// One thread of a block: waits for one of each other block. `count` only grows, by as much as there are
// blocks.
static __device__ void meet(u32 *count) {
    const u32 mine = atomicAdd(count, 1), target = (mine / gridDim.x + 1) * gridDim.x;
    u32 now;
    do
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(count) : "memory");
    while ((int)(now - target) < 0);
}

#ifdef TILE
#define N           (16 / ELEM_SIZE) // elements of an access: micro-tiles are N x N
#define ROW         (TILE * ELEM_SIZE)
#define ROWS        (TILE / CLUSTER) // of a tile, in a block
#define STAGE       (ROWS * ROW)
#define ACROSS      (TILE / N)
#define DOWN        (ROWS / N)
#define MICRO_TILES (ACROSS * DOWN / THREADS)

struct place {
    unsigned char *dst;
    const unsigned char *src;
    const void *dst_map, *src_map;
    long long pitch;
    u32 down, rank;
};

static __device__ void sync_cluster() {
#if CLUSTER > 1
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
#else
    __syncthreads();
#endif
}

// Both by the first warp.
static __device__ void read_tile(const place &p, u32 tile, int stage, u32 bar) {
    const u32 x = tile / p.down, y = tile % p.down, to = shared_address(held) + stage * STAGE;
    if (threadIdx.x == 0)
        expect(bar, STAGE);
    __syncwarp();
#if TENSOR
    if (threadIdx.x == 0)
        box_in(to, p.src_map, x * (ROW / 4), y * TILE + p.rank * ROWS, bar);
#else
    for (int r = threadIdx.x; r < ROWS; r += 32)
        bulk_in(to + r * ROW,
                p.src + ((long long)y * TILE + p.rank * ROWS + r) * p.pitch + (long long)x * ROW, ROW, bar);
#endif
}
static __device__ void write_tile(const place &p, u32 tile, int stage) {
    const u32 x = tile / p.down, y = tile % p.down, from = shared_address(held) + stage * STAGE;
#if TENSOR
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
                         p.dst_map),
                     "r"(y * (ROW / 4)), "r"(x * TILE + p.rank * ROWS), "r"(from)
                     : "memory");
#else
    for (int r = threadIdx.x; r < ROWS; r += 32)
        bulk_out(p.dst + ((long long)x * TILE + p.rank * ROWS + r) * p.pitch + (long long)y * ROW,
                 from + r * ROW, ROW);
#endif
    commit();
}

// Threads go down the diagonals of 8 x 8 micro-tiles: no bank conflicts on either side, without padding.
static __device__ void turn_tile(const place &p, int stage) {
    const u32 base = shared_address(held) + stage * STAGE;
    u32 w[MICRO_TILES][N][4];
#pragma unroll
    for (int m = 0; m < MICRO_TILES; m++) {
        const int i = m * THREADS + threadIdx.x, across = i / 64 % (ACROSS / 8) * 8 + i % 8;
        const int down = i / 64 / (ACROSS / 8) * 8 + (i + i / 8) % 8;
#pragma unroll
        for (int r = 0; r < N; r++)
            asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(w[m][r][0]), "=r"(w[m][r][1]), "=r"(w[m][r][2]), "=r"(w[m][r][3])
                         : "r"(base + (down * N + r) * ROW + across * 16)
                         : "memory");
    }
    sync_cluster();
#pragma unroll
    for (int m = 0; m < MICRO_TILES; m++) {
        const int i = m * THREADS + threadIdx.x, across = i / 64 % (ACROSS / 8) * 8 + i % 8;
        const int down = i / 64 / (ACROSS / 8) * 8 + (i + i / 8) % 8;
#pragma unroll
        for (int c = 0; c < N; c++) {
            u32 o[4], to = base + (across % DOWN * N + c) * ROW + (p.rank * DOWN + down) * 16;
#pragma unroll
            for (int k = 0; k < 4; k++)
                o[k] = w[m][k / (4 / N)][c * (4 / N) + k % (4 / N)];
#if CLUSTER > 1
            asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(to), "r"(across / DOWN));
            asm volatile("st.shared::cluster.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(o[0]), "r"(o[1]),
                         "r"(o[2]), "r"(o[3])
                         : "memory");
#else
            asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(o[0]), "r"(o[1]),
                         "r"(o[2]), "r"(o[3])
                         : "memory");
#endif
        }
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    sync_cluster();
}

extern "C" __global__ void __launch_bounds__(THREADS)
#if CLUSTER > 1
    __cluster_dims__(CLUSTER, 1, 1)
#endif
        transpose_bulk(unsigned char *dst, const unsigned char *src, const void *dst_map, const void *src_map,
                       long long pitch, u32 side, u32 *count) {
    const place p = {dst, src, dst_map, src_map, pitch, side, blockIdx.x % CLUSTER};
    const u32 bars = shared_address(held) + STAGES * STAGE, tiles = side * side, first = blockIdx.x / CLUSTER;
    const u32 step = gridDim.x / CLUSTER;
    const bool issues = threadIdx.x < 32;
    if (threadIdx.x == 0)
        make_barriers(bars);
    sync_cluster();
    u32 parity = 0;
#if PHASES
    for (u32 k = first; k < tiles; k += step * STAGES, parity ^= 1) {
        const bool full = k - first + step * STAGES <= tiles; // the same for all blocks
        for (int s = 0; s < STAGES && issues; s++)
            if (k + s * step < tiles)
                read_tile(p, k + s * step, s, bars + 8 * s);
        for (int s = 0; s < STAGES; s++)
            if (k + s * step < tiles)
                wait_for(bars + 8 * s, parity);
        if (full && threadIdx.x == 0)
            meet(count);
        __syncthreads();
        for (int s = 0; s < STAGES; s++)
            if (k + s * step < tiles) {
                turn_tile(p, s);
                if (issues)
                    write_tile(p, k + s * step, s);
            }
        if (issues)
            all_written();
        if (full && threadIdx.x == 0)
            meet(count);
        __syncthreads();
    }
#else
    for (int s = 0; s < STAGES && issues; s++)
        if (first + s * step < tiles)
            read_tile(p, first + s * step, s, bars + 8 * s);
    int s = 0;
    for (u32 k = first; k < tiles; k += step) {
        const int before = s == 0 ? STAGES - 1 : s - 1;
        wait_for(bars + 8 * s, parity);
        turn_tile(p, s);
        if (issues) {
            write_tile(p, k, s);
            if (k != first && k + (STAGES - 1) * step < tiles) {
                all_but_last_read();
                __syncwarp();
                read_tile(p, k + (STAGES - 1) * step, before, bars + 8 * before);
            }
        }
        if (++s == STAGES)
            s = 0, parity ^= 1;
    }
    if (issues)
        all_written();
#endif
    sync_cluster();
}
#else
// One thread a block.
extern "C" __global__ void __launch_bounds__(32)
    copy_bulk(unsigned char *dst, const unsigned char *src, u32 chunks, u32 *count) {
    const u32 base = shared_address(held), bars = base + STAGES * CHUNK, first = blockIdx.x, step = gridDim.x;
    if (threadIdx.x > 0)
        return;
    make_barriers(bars);
    u32 parity = 0;
    for (u32 k = first; k < chunks; k += step * STAGES, parity ^= 1) {
        const bool full = k - first + step * STAGES <= chunks;
        if (READ && (PHASES || k == first))
            for (int s = 0; s < STAGES; s++)
                if (k + s * step < chunks) {
                    expect(bars + 8 * s, CHUNK);
                    bulk_in(base + s * CHUNK, src + (u64)(k + s * step) * CHUNK, CHUNK, bars + 8 * s);
                }
        if (PHASES) {
            for (int s = 0; s < STAGES; s++)
                if (k + s * step < chunks)
                    wait_for(bars + 8 * s, parity);
            if (full)
                meet(count);
        }
        for (int s = 0; s < STAGES; s++) {
            const u32 now = k + s * step, later = now + (STAGES - 1) * step;
            const int before = s == 0 ? STAGES - 1 : s - 1;
            if (now >= chunks)
                break;
            if (READ && !PHASES)
                wait_for(bars + 8 * s, parity);
            if (WRITE) {
                bulk_out(dst + (u64)now * CHUNK, base + s * CHUNK, CHUNK);
                commit();
            }
            if (!PHASES && now != first && later < chunks) {
                if (WRITE)
                    all_but_last_read();
                if (READ) {
                    expect(bars + 8 * before, CHUNK);
                    bulk_in(base + before * CHUNK, src + (u64)later * CHUNK, CHUNK, bars + 8 * before);
                }
            }
        }
        if (PHASES) {
            all_written();
            if (full)
                meet(count);
        }
    }
    all_written();
}
#endif
