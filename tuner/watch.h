/* Watching a GPU's clocks while it measures: a sample that was taken at another clock is another GPU's. */
#ifndef TT_TUNER_WATCH_H
#define TT_TUNER_WATCH_H

#include "gpu/nvml.h"

typedef struct tt__watch {
    int ordinal;
    unsigned usual_mhz, now_mhz; /* of the SMs; 0: not known yet, or there is no NVML */
    double read_s, cost_s;       /* when they were read last, and how long that took */
    int n_falls;                 /* how often they were found to have fallen ... */
    unsigned lowest_mhz;         /* ... how far ... */
    char why[48];                /* ... and what NVML says about it, or "" */
} tt__watch;

/* Have the clocks been up since the last call? They are read every few milliseconds at most. Always true
 * where they cannot be read. */
bool tt__watch_steady(tt__watch *w);

/* Waits for them to come back, a fifth of a second at most; after that what they are is the usual. */
void tt__watch_recover(tt__watch *w);

/* Have they stopped rising? For a GPU that has been idle and is kept busy between the calls. */
bool tt__watch_settled(tt__watch *w);

#endif
