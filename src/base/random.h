/*
 * Random numbers from a seed, the same on every machine.
 */
#ifndef TT_BASE_RANDOM_H
#define TT_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* SplitMix64 (Steele, Lea and Flood, 2014). */
static inline uint64_t tt__random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* From 0 to n - 1, for n far below 2^64. */
static inline size_t tt__random_below(uint64_t *state, size_t n) {
    return (size_t)(tt__random(state) % n);
}

/* From 0 to less than 1. */
static inline double tt__random_unit(uint64_t *state) {
    return (double)(tt__random(state) >> 11) * 0x1p-53;
}

#endif
