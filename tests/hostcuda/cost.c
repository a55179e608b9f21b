/*
 * Virtual time. The time of a launch depends on its geometry only, so that a search has something to find,
 * and golden output is the same on every machine. The numbers mean nothing more: a memory of 100 GB/s, where
 * a good geometry gets 96 %, and mistakes that cost time on a GPU cost time here.
 */
#include "driver.h"

#include <math.h>

static const double launch_us = 2, block_us = 0.0005, bytes_per_us = 96e3, copy_bytes_per_us = 50e3;

/* Between -1 and 1, the same sequence for the same $HOSTCUDA_SEED (xorshift64). */
static double noise(void) {
    static uint64_t x;
    if (x == 0)
        x = (uint64_t)hostcuda_number("HOSTCUDA_SEED", 1) * 0x9E3779B97F4A7C15u + 1;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return (double)(x >> 11) / (double)(1ull << 52) - 1;
}

/* $HOSTCUDA_WATTS is "IDLE,ACTIVE,DRIFT,NOISE": the power of an idle GPU; how much more a launch takes; how
 * many percent more of that after each second; and by how many percent it varies from one tenth of a second
 * to the next. */
void hostcuda_pass(double us, double hungry) {
    const hostcuda_settings *set = &hostcuda_state.set;
    const double s = hostcuda_state.clock_us * 1e-6;
    uint64_t x = ((uint64_t)(s * 10) + 1) * 0x9E3779B97F4A7C15u;
    x ^= x >> 29;
    x *= 0xBF58476D1CE4E5B9u;
    const double chance = (double)(x >> 11) / (double)(1ull << 52) - 1;
    const double more = 1 + set->drift / 100 * s + set->vary / 100 * chance;
    hostcuda_state.clock_us += us;
    hostcuda_state.joules += us * 1e-6 * (set->idle + set->active * hungry * more);
}

/* For the stand-in for NVML. */
EXPORT double hostcuda_energy(double *clock_us) {
    *clock_us = hostcuda_state.clock_us;
    return hostcuda_state.joules;
}

/* Blocks of the last wave leave SMs idle: 1 is none, at most 4. */
static double tail_factor(double blocks, double threads, double shared) {
    double per_sm = fmin(32, floor(2048 / threads));
    if (shared > 0)
        per_sm = fmin(per_sm, floor((hostcuda_shared_limit() + 1024) / (shared + 1024)));
    const double at_once = 4 * fmax(per_sm, 1);
    return fmin(ceil(blocks / at_once) * at_once / blocks, 4);
}

double hostcuda_launch_us(const hostcuda_geometry *g) {
    const double blocks = (double)g->grid[0] * g->grid[1] * g->grid[2];
    const double threads = (double)g->block[0] * g->block[1] * g->block[2];
    const double shared = g->shared_bytes, bytes_per_thread = g->moved_bytes / 2 / (blocks * threads);
    double factor = 1 + 0.06 * fabs(log2(threads / 256));
    if (bytes_per_thread < 32)
        factor += 0.05 * log2(32 / fmax(bytes_per_thread, 1));
    else if (bytes_per_thread > 64)
        factor += 0.03 * log2(bytes_per_thread / 64);
    if (shared > 0)
        factor += 0.08 * shared / 65536 + (g->shared_bytes % 1024 == 0 ? 0.5 : 0); /* bank conflicts */
    factor *= 0.8 + 0.2 * tail_factor(blocks, threads, shared);
    const double us = launch_us + blocks * block_us + g->moved_bytes / bytes_per_us * factor;
    return us * (1 + hostcuda_state.set.noise / 100 * noise());
}

double hostcuda_copy_us(size_t bytes) {
    return (double)bytes / copy_bytes_per_us;
}
