/*
 * Hardware counters of launches, by CUPTI's range profiler (CUDA 12.6 and newer), loaded at run time if it is
 * installed. All launches between a begin and its end are one range. They are repeated until all counters
 * were read, because the hardware has room for a few at a time. Use it in one thread, with the context
 * current.
 */
#ifndef TT_GPU_CUPTI_H
#define TT_GPU_CUPTI_H

#include "gpu/driver.h"

typedef struct tt__cupti tt__cupti;

/* Metrics that this GPU does not know are left out. TT_E_UNSUPPORTED: CUPTI is missing, or counters are not
 * allowed; the message says what to do. */
tt_status tt__cupti_open(tt__cupti **out, CUcontext context, int ordinal, const char *const *metrics,
                         size_t n);
void tt__cupti_close(tt__cupti **c);

/* Starts a new range. Then repeat tt__cupti_begin, the launches, and tt__cupti_end, until *more is false. The
 * launches must have the same effect each time. */
tt_status tt__cupti_start(tt__cupti *c);
tt_status tt__cupti_begin(tt__cupti *c);
tt_status tt__cupti_end(tt__cupti *c, bool *more);
/* Reads the values of the range, in the order of the metrics; NaN: unknown. */
tt_status tt__cupti_read(tt__cupti *c, double *values);

#endif
