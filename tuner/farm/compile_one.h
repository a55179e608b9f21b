/* Compiling one program for a caller that has no other use for workers. */
#ifndef TT_TUNER_FARM_COMPILE_ONE_H
#define TT_TUNER_FARM_COMPILE_ONE_H

#include "base/str.h"

/* As tt__nvrtc_compile, in a compile worker with its limits of memory and time, which ends with this call. A
 * compiler that exceeds them, or crashes, is TT_E_COMPILE. timeout_s 0: 60. */
tt_status tt__compile_one(tt__str *cubin, const char *name, const char *source, const tt__str *options,
                          int n_options, int cc, double timeout_s);

#endif
