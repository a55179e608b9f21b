/* The finals, as the GPU worker runs them: rounds that launch every finalist. */
#ifndef TT_TUNER_WORKER_GPU_FINALS_H
#define TT_TUNER_WORKER_GPU_FINALS_H

#include "base/str.h"
#include "tuner/farm/protocol.h"
#include "tuner/worker/gpu_worker.h"

/* Too large for the stack. */
typedef struct tt__gpu_finals {
    int n;
    tt__msg_trial m[TT__FINALISTS_MAX];
    const void *cubins[TT__FINALISTS_MAX]; /* they point into the request */
    int n_loaded;
    tt__kernel *loaded, *kernels;               /* all of them, and those of the last load */
    tt__variables variables[TT__FINALISTS_MAX]; /* of the last load, if the rounds are strict */
    tt__launch_graph graphs[TT__FINALISTS_MAX]; /* likewise, if the problem is in a graph */
    uint32_t chance;
    tt__trial trials[TT__FINALISTS_MAX];
    float of_round[TT__FINALISTS_MAX][TT__LAPS_MAX];
} tt__gpu_finals;

/* Serves a request for finals; f->trials are the results. */
tt_status tt__gpu_finals_run(tt__gpu_state *g, const tt__str *request, tt__gpu_finals *f);

/* Runs trains of so many seconds of each thing, and fills in energy and time of n. TT_E_UNSUPPORTED: NVML
 * does not count this GPU's joules; the message says why. */
tt_status tt__gpu_energy(tt__gpu_state *g, const tt__timed *things, int n, double train_s, tt__energy *out);

#endif
