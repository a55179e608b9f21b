/* The GPUs of this machine, and what the tuner has to know of one. */
#ifndef TT_GPU_DEVICE_H
#define TT_GPU_DEVICE_H

#include "base/str.h"
#include "gpu/driver.h"

/* How many CUDA devices there are. TT_E_NO_DRIVER, TT_E_NO_DEVICE as tt__driver_open. */
tt_status tt__device_count(int *n);

/* The facts of a device. TT_E_NO_DEVICE lists the devices there are if this one is not among them. */
tt_status tt__device_gpu(tt__gpu *out, int ordinal);

/* The facts of the device of the CUDA context current in this thread; TT_E_NO_DEVICE without one. */
tt_status tt__device_current(tt__gpu *out);
/* Its CUDA ordinal. */
tt_status tt__device_current_ordinal(int *out);

/* CUDA's number of the context that is current in this thread, which no other context of the process ever
 * gets, whatever is destroyed and made again. One driver call. TT_E_NO_DEVICE without a context. */
tt_status tt__device_context_id(unsigned long long *id, const tt__driver *cu);

#endif
