/*
 * Opens and closes a verifier for a problem.
 */
#ifndef TT_TUNER_MEASURE_VERIFIER_H
#define TT_TUNER_MEASURE_VERIFIER_H

#include "tuner/measure/checker.h"

/* Allocates, fills, and runs the reference (cubin NULL: none). TT_E_NO_MEMORY, TT_E_CUDA, or TT_E_IO if a
 * data file cannot be read or has the wrong size. */
tt_status tt__verifier_open(tt__verifier *v, const tt__driver *cu, CUstream stream, const tt__problem *p,
                            const tt__workload *w, const void *checker_cubin, const void *reference_cubin,
                            size_t reference_size);
/* Makes what results are compared with, by a loaded kernel (NULL: from files only). TT_E_INVALID: the
 * reference writes something else. */
tt_status tt__verifier_reference(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch);
/* Reads raw data to `to`. TT_E_IO: the file is not as long as the array. */
tt_status tt__verifier_read(const tt__verifier *v, const char *path, const tt__array *a, CUdeviceptr to);
void tt__verifier_close(tt__verifier *v);

#endif
