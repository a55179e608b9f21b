/*
 * NVML (libnvidia-ml.so.1), loaded at run time if it is installed. It knows a GPU's name long before CUDA has
 * started, and its clocks, which explain why a GPU is slower than a moment ago. Not thread-safe.
 */
#ifndef TT_GPU_NVML_H
#define TT_GPU_NVML_H

#include "base/model.h"

/* The probable name of this CUDA device, without waiting for CUDA; "" if unknown. With several GPUs, only
 * CUDA knows their order. */
void tt__nvml_name(char *out, size_t size, int ordinal);

/* The number of GPUs if all of them are alike and visible to CUDA, without waiting for CUDA; 0: they are not,
 * or that is unknown. Ordinals are then below it. */
int tt__nvml_alike(void);

/* The current SM clock of a CUDA device in MHz; 0: unknown. May take a millisecond. */
unsigned tt__nvml_sm_mhz(int ordinal);

/* Joules that a CUDA device has taken since the driver was loaded. False: unknown. */
bool tt__nvml_joules(int ordinal, double *joules);
/* Its temperature; 0: unknown. */
double tt__nvml_celsius(int ordinal);

/* The unusual reason that slows the clocks down now: "heat", "power", "heat and power", or "". */
void tt__nvml_why_slow(char *out, size_t size, int ordinal);

#endif
