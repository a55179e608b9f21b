/* The worker that owns the GPU: serves requests (wire.h) until the tuner closes the socket. */
#ifndef TT_TUNER_WORKER_GPU_WORKER_H
#define TT_TUNER_WORKER_GPU_WORKER_H

int tt__gpu_worker(int ordinal);

#endif
