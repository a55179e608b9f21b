/*
 * The clocks of a GPU, through NVML where it is installed (libnvidia-ml.so.1, loaded at run time like the
 * driver): what else would explain that a GPU is slower now than a moment ago.
 */
#ifndef TT_GPU_CLOCKS_H
#define TT_GPU_CLOCKS_H

#include "base/model.h"

/* The clock of a CUDA device's SMs in MHz, now; 0: there is no NVML, or it cannot tell. May take a
 * millisecond. One thread. */
unsigned tt__clocks_sm_mhz(int ordinal);

/* "heat", "power", "heat and power": what holds the clocks down now beyond the ordinary;
 * "" if nothing does. */
void tt__clocks_why(char *out, size_t size, int ordinal);

#endif
