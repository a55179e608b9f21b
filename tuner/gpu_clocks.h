/* Watching a GPU's clocks while it measures: a sample that was taken at another clock is another GPU's. */
#ifndef TT_TUNER_GPU_CLOCKS_H
#define TT_TUNER_GPU_CLOCKS_H

#include "gpu/nvml.h"

typedef struct tt__gpu_clocks {
    int ordinal;
    unsigned usual_mhz, now_mhz; /* of the SMs; 0: not known yet, or there is no NVML */
    double read_s, cost_s;       /* when they were read last, and how long that took */
    int n_falls;                 /* how often they were found to have fallen ... */
    unsigned lowest_mhz;         /* ... how far ... */
    char why[48];                /* ... and what NVML says about it, or "" */
} tt__gpu_clocks;

/* Have the clocks been up since the last call? Reads them every few milliseconds at most. True if they
 * cannot be read. */
bool tt__gpu_clocks_steady(tt__gpu_clocks *c);

/* Waits for them to come back, a fifth of a second at most; after that what they are is the usual. */
void tt__gpu_clocks_recover(tt__gpu_clocks *c);

/* Have they stopped rising? For a GPU that has been idle and is kept busy between the calls. */
bool tt__gpu_clocks_settled(tt__gpu_clocks *c);

#endif
