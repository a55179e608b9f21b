/*
 * Verifies on the device. Every operand lies between guard bands, and results are poisoned before each run.
 * Afterwards everything, including guards and inputs, is compared on the GPU with the reference's results:
 * bit for bit, or within a tolerance. Runs in the GPU worker, with all calls in its one stream.
 */
#ifndef TT_TUNER_VERIFY_H
#define TT_TUNER_VERIFY_H

#include "tuner/checker.h"

/* Runs the kernel once and compares. The trial gets the status ok, launch_error or wrong_result, and a
 * reason. TT_E_CUDA: the context is no longer usable. */
tt_status tt__verify(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch, tt__trial *trial);

#endif
