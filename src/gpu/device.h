/*
 * The GPUs of this machine, and their properties.
 */
#ifndef TT_GPU_DEVICE_H
#define TT_GPU_DEVICE_H

#include "base/str.h"
#include "gpu/driver.h"

/* Counts the CUDA devices. TT_E_NO_DRIVER and TT_E_NO_DEVICE as in tt__driver_open. */
tt_status tt__device_count(int *n);

/* The properties of a device. TT_E_NO_DEVICE lists the devices if there is none with this ordinal. */
tt_status tt__device_gpu(tt__gpu *out, int ordinal);

/* The properties of the device of this thread's current CUDA context; TT_E_NO_DEVICE if none is current. */
tt_status tt__device_current(tt__gpu *out);
/* Its CUDA ordinal. */
tt_status tt__device_current_ordinal(int *out);

/* CUDA's id of the context that is current in this thread. The process never uses an id twice. One driver
 * call.
 * TT_E_NO_DEVICE if no context is current. */
tt_status tt__device_context_id(unsigned long long *id, const tt__driver *cu);

#endif
