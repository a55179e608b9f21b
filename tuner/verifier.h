/*
 * Opens and closes a verifier for a problem.
 */
#ifndef TT_TUNER_VERIFIER_H
#define TT_TUNER_VERIFIER_H

#include "tuner/checker.h"

/* Allocates, fills, and runs the reference (cubin NULL: none). TT_E_NO_MEMORY, TT_E_CUDA, or TT_E_IO if a
 * data file cannot be read or has the wrong size. */
tt_status tt__verifier_open(tt__verifier *v, const tt__driver *cu, CUstream stream, const tt__problem *p,
                            const tt__workload *w, const void *checker_cubin, const void *reference_cubin,
                            size_t reference_size);
void tt__verifier_close(tt__verifier *v);

#endif
