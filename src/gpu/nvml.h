/*
 * NVML, where it is installed (libnvidia-ml.so.1, loaded at run time like the driver): what a GPU is called,
 * which it knows long before CUDA has started, and its clocks. What else would explain that a GPU is slower
 * now than a moment ago. One thread at a time.
 */
#ifndef TT_GPU_NVML_H
#define TT_GPU_NVML_H

#include "base/model.h"

/* The name of what is probably this CUDA device, without waiting for CUDA; "" if NVML cannot tell. Which of
 * several GPUs has which ordinal CUDA alone knows. */
void tt__nvml_name(char *out, size_t size, int ordinal);

/* The clock of a CUDA device's SMs in MHz, now; 0: there is no NVML, or it cannot tell. May take a
 * millisecond. */
unsigned tt__nvml_sm_mhz(int ordinal);

/* "heat", "power", "heat and power": what holds the clocks down now beyond the ordinary;
 * "" if nothing does. */
void tt__nvml_why_slow(char *out, size_t size, int ordinal);

#endif
