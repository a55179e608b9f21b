/*
 * The limits are from the CUDA programming guide, technical specifications. A warp's registers are allocated
 * in units of 256, from a quarter of the SM. Shared memory is allocated in units of 128 bytes (Turing: 256).
 * From Ampere on the system uses 1 KB of each block.
 */
#include "tuner/explain/occupancy.h"

#include <stddef.h>

enum {
    WARP = 32,
    REGS_PER_SM = 65536,
    REGS_PER_THREAD_MAX = 255,
    REGS_UNIT = 256,
    QUARTERS = 4,
    KB = 1024,
};

static const struct sm {
    int cc, threads, blocks, shared_bytes, shared_unit, reserved_bytes;
} sms[] = {
    {70, 2048, 32, 96 * KB, 256, 0},    {72, 2048, 32, 96 * KB, 256, 0},
    {75, 1024, 16, 64 * KB, 256, 0},    {80, 2048, 32, 164 * KB, 128, KB},
    {86, 1536, 16, 100 * KB, 128, KB},  {87, 1536, 16, 164 * KB, 128, KB},
    {89, 1536, 24, 100 * KB, 128, KB},  {90, 2048, 32, 228 * KB, 128, KB},
    {100, 2048, 32, 228 * KB, 128, KB}, {103, 2048, 32, 228 * KB, 128, KB},
    {110, 1536, 24, 228 * KB, 128, KB}, {120, 1536, 24, 100 * KB, 128, KB},
    {121, 1536, 24, 100 * KB, 128, KB},
};

static const struct sm *find(int cc) {
    for (size_t i = 0; i < sizeof sms / sizeof *sms; i++)
        if (sms[i].cc == cc)
            return &sms[i];
    return NULL;
}

static int round_up(int n, int unit) {
    return (n + unit - 1) / unit * unit;
}

static int warps_of(const tt__block_needs *needs) {
    return (needs->threads + WARP - 1) / WARP;
}

/* The hardware checks a block as if it used registers of all quarters equally. */
static int by_regs(const tt__block_needs *needs) {
    int per_warp = round_up(needs->regs * WARP, REGS_UNIT), warps = warps_of(needs);
    if (needs->regs > REGS_PER_THREAD_MAX || per_warp * round_up(warps, QUARTERS) > REGS_PER_SM)
        return 0;
    return REGS_PER_SM / QUARTERS / per_warp * QUARTERS / warps;
}

static int least(int a, int b) {
    return a < b ? a : b;
}

int tt__resident_blocks(int cc, const tt__block_needs *needs) {
    const struct sm *sm = find(cc);
    if (!sm || needs->threads < 1 || needs->regs < 1 || needs->shared_bytes < 0)
        return -1;
    int blocks = least(sm->blocks, sm->threads / WARP / warps_of(needs));
    int shared = round_up(needs->shared_bytes + sm->reserved_bytes, sm->shared_unit);
    if (shared > 0)
        blocks = least(blocks, sm->shared_bytes / shared);
    return least(blocks, by_regs(needs));
}

double tt__occupancy(int cc, const tt__block_needs *needs) {
    int blocks = tt__resident_blocks(cc, needs);
    return blocks > 0 ? (double)blocks * warps_of(needs) * WARP / find(cc)->threads : 0;
}
