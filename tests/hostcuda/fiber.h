/* Runs a kernel on the CPU: block after block, the threads of a block as fibers. */
#ifndef HOSTCUDA_FIBER_H
#define HOSTCUDA_FIBER_H

#include <cuda.h>
#include <stddef.h>

#include "hostcuda_env.h"

/* One launch at a time in a process: the caller holds a lock. CUDA_ERROR_LAUNCH_FAILED if a thread trapped or
 * the threads wait for each other for good, CUDA_ERROR_MISALIGNED_ADDRESS; stderr says where. */
CUresult hostcuda_run_grid(const hostcuda_kernel *kernel, hostcuda_env *env, uint3 grid, uint3 block,
                           size_t shared_bytes, void **args);

#endif
