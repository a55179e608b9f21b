/*
 * The clocks of a GPU, through NVML where it is installed (libnvidia-ml.so.1, loaded at run time like the
 * driver): what else would explain that a GPU is slower now than a moment ago.
 */
#ifndef TT_GPU_CLOCKS_H
#define TT_GPU_CLOCKS_H

#include "base/model.h"

typedef struct tt__clocks {
    bool known; /* false: there is no NVML, or it cannot tell */
    unsigned sm_mhz, memory_mhz;
    unsigned long long limits; /* why they are not higher: NVML's clocks event reasons */
} tt__clocks;

/* The clocks of a CUDA device, now. Takes some 10 us. One thread. */
tt__clocks tt__clocks_now(int ordinal);

/* "heat", "power", "heat and power": what holds the clocks down beyond the ordinary; "" if nothing does. */
void tt__clocks_limits(char *out, size_t size, unsigned long long limits);

#endif
