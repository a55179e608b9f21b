/*
 * NVTX ranges, which Nsight Systems shows as a row of the process. The library is loaded only under such a
 * tool. Not thread-safe.
 */
#ifndef TT_GPU_NVTX_H
#define TT_GPU_NVTX_H

/* Begins a range within the current one, and ends it. Without a tool they do nothing. */
void tt__nvtx_push(const char *what, const char *name);
void tt__nvtx_pop(void);

#endif
