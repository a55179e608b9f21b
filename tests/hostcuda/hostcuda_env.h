/*
 * Shared by a kernel on the CPU and its scheduler. The kernel's library (C++, through hostcuda_shim.h) owns
 * one hostcuda_env. The driver stand-in (C) fills it in before every thread.
 */
#ifndef HOSTCUDA_ENV_H
#define HOSTCUDA_ENV_H

typedef struct uint3 {
    unsigned x, y, z;
} uint3;

enum { HOSTCUDA_THREADS_MAX = 1024, HOSTCUDA_WARP = 32, HOSTCUDA_PARAMS_MAX = 32 };

typedef struct hostcuda_env {
    uint3 thread, block, block_dim, grid_dim;
    unsigned linear;              /* of the thread in its block, x fastest: warp and lane follow */
    void *dynamic;                /* the block's dynamic shared memory, exactly as large as launched */
    unsigned long long *exchange; /* one slot a thread, for the warp functions */
    void (*block_barrier)(void);
    void (*warp_barrier)(unsigned mask);
    void (*yield)(void);
    void (*trap)(void); /* does not return; nor does the next one */
    void (*misaligned)(const char *file, unsigned line);
    unsigned long long (*clock)(void);
} hostcuda_env;

/* One for every kernel, under the name hostcuda_kernel_NAME. */
typedef struct hostcuda_kernel {
    void (*call)(void **args); /* runs one thread */
    unsigned max_threads;      /* of __launch_bounds__; 0: not given */
    unsigned n_params;
    struct {
        unsigned size, is_pointer;
    } params[HOSTCUDA_PARAMS_MAX];
} hostcuda_kernel;

#endif
