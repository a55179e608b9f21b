/*
 * Verifies on the device. Every operand lies between guard bands, and results are poisoned before each run.
 * Afterwards everything, including guards and inputs, is compared on the GPU with the reference's results:
 * bit for bit, or within a tolerance. Runs in the GPU worker, with all calls in its one stream.
 */
#ifndef TT_TUNER_MEASURE_VERIFY_H
#define TT_TUNER_MEASURE_VERIFY_H

#include "tuner/measure/checker.h"

/* Runs the kernel once and compares. The trial gets the status ok, launch_error or wrong_result, and a
 * reason. If launch_us is not NULL, it gets the time of this launch; 0: the host may have delayed it.
 * TT_E_CUDA: the context is no longer usable. */
tt_status tt__verify(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch, tt__trial *trial,
                     double *launch_us);

/* Runs the kernel of `verify` on the results. The trial is a wrong_result if the error exceeds the limit.
 * TT_E_CUDA as above. */
tt_status tt__verify_error(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch,
                           tt__trial *trial);

#endif
