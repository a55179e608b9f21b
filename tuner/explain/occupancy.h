/*
 * Theoretical occupancy, by the rules of NVIDIA's calculator (cuda_occupancy.h): the part of an SM's warps
 * that a kernel's blocks can use. It needs no driver, so it works for recordings.
 */
#ifndef TT_TUNER_EXPLAIN_OCCUPANCY_H
#define TT_TUNER_EXPLAIN_OCCUPANCY_H

/* The resources of a block. */
typedef struct tt__block_needs {
    int threads;
    int regs;         /* per thread, as the driver counts them */
    int shared_bytes; /* static and dynamic */
} tt__block_needs;

/* Resident blocks on an SM of this compute capability (90 is 9.0). 0: not even one fits. -1: the capability
 * is unknown, or threads or regs are below 1. */
int tt__resident_blocks(int cc, const tt__block_needs *needs);

/* Resident warps as a part of the maximum; 0: unknown. */
double tt__occupancy(int cc, const tt__block_needs *needs);

#endif
