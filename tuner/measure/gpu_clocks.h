/*
 * Watches a GPU's clocks while it measures. Samples at different clocks cannot be compared.
 */
#ifndef TT_TUNER_MEASURE_GPU_CLOCKS_H
#define TT_TUNER_MEASURE_GPU_CLOCKS_H

#include "gpu/nvml.h"

typedef struct tt__gpu_clocks {
    int ordinal;
    unsigned usual_mhz, now_mhz; /* of the SMs; 0: unknown */
    double read_s, cost_s;       /* time of the last reading, and its duration */
    int n_falls;                 /* number of falls */
    unsigned lowest_mhz;         /* lowest clock of a fall */
    char why[48];                /* NVML's reason for it, or "" */
} tt__gpu_clocks;

/* Have the clocks stayed up since the last call? They are read every few milliseconds at most. True if they
 * cannot be read. */
bool tt__gpu_clocks_steady(tt__gpu_clocks *c);

/* Waits up to a fifth of a second for the clocks to recover. Then the current clocks count as usual. */
void tt__gpu_clocks_recover(tt__gpu_clocks *c);

/* Have the clocks stopped rising? Use it while a GPU that was idle is kept busy. */
bool tt__gpu_clocks_settled(tt__gpu_clocks *c);

#endif
