/* Measures what the GPU can do at most, in the GPU worker. */
#ifndef TT_TUNER_WORKER_PEAKS_H
#define TT_TUNER_WORKER_PEAKS_H

#include "tuner/measure/measure.h"

/* `cubin` is the checker's with PEAKS=1. It borrows memory and events of the pool. TT_E_CUDA: the context is
 * lost. */
tt_status tt__peaks_measure(tt__peaks *out, const tt__bench_pool *pool, const tt__gpu *gpu,
                            const void *cubin);

#endif
