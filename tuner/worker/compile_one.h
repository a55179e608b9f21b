/*
 * A compile worker for callers without a farm.
 */
#ifndef TT_TUNER_WORKER_COMPILE_ONE_H
#define TT_TUNER_WORKER_COMPILE_ONE_H

#include "tuner/farm/workers.h"

/* Zero-initialise. It starts with the first compile, and again after a compile that took it down. */
typedef struct tt__compiler {
    tt__workers workers;
    bool open;
} tt__compiler;

/* tt__nvrtc_compile in a worker with limits on memory and time. timeout_s 0: 60.
 * TT_E_COMPILE also means that the compiler crashed or exceeded a limit. */
tt_status tt__compile_one(tt__compiler *c, tt__str *cubin, const char *name, const char *source,
                          const tt__str *options, int n_options, int cc, double timeout_s);
void tt__compiler_close(tt__compiler *c);

#endif
