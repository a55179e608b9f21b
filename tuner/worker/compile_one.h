/*
 * Compiles one program in a worker, for callers without a farm.
 */
#ifndef TT_TUNER_WORKER_COMPILE_ONE_H
#define TT_TUNER_WORKER_COMPILE_ONE_H

#include "base/str.h"

/* tt__nvrtc_compile in a compile worker with limits on memory and time. The worker ends with this call.
 * timeout_s 0: 60.
 * TT_E_COMPILE also means that the compiler crashed or exceeded a limit. */
tt_status tt__compile_one(tt__str *cubin, const char *name, const char *source, const tt__str *options,
                          int n_options, int cc, double timeout_s);

#endif
