/*
 * Hardware counters of launches, by CUPTI's range profiler (CUDA 12.6 and newer), loaded at run time if it is
 * installed. A launch is repeated until all counters were read, because the hardware has room for a few at a
 * time. Use it in one thread, with the context current.
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

/* Launches once, between `begin` and `end`, which take `range`. It has the same effect each time. */
typedef tt_status (*tt__cupti_launch_fn)(void *user, tt_status (*begin)(void *range),
                                         tt_status (*end)(void *range), void *range);
/* Launches until all counters were read, but at most `most` times, and gives the values in the order of the
 * metrics; NaN: unknown. *n_replays counts the launches. */
tt_status tt__cupti_count(tt__cupti *c, double *values, int *n_replays, int most, tt__cupti_launch_fn launch,
                          void *user);

#endif
