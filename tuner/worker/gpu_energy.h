/* The energy of finalists, as the GPU worker measures it. */
#ifndef TT_TUNER_WORKER_GPU_ENERGY_H
#define TT_TUNER_WORKER_GPU_ENERGY_H

#include "tuner/worker/gpu_state.h"

/* Runs trains of so many seconds of each thing, and fills in energy and time of n. TT_E_UNSUPPORTED: NVML
 * does not count this GPU's joules; the message says why. */
tt_status tt__gpu_energy(tt__gpu_state *g, const tt__timed *things, int n, double train_s, tt__energy *out);

#endif
