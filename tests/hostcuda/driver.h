/* The state of the driver stand-in: one process, one lock, virtual time. */
#ifndef HOSTCUDA_DRIVER_H
#define HOSTCUDA_DRIVER_H

#include <cuda.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fault.h"

#define EXPORT __attribute__((visibility("default")))

enum { HOSTCUDA_DEVICES_MAX = 24 };

struct CUctx_st {
    CUdevice device;
    int uses; /* a primary context lives while this is above 0 */
    bool is_primary;
    unsigned long long id; /* never used twice */
};

/* What every launch asks of the environment. cuInit reads it, because a tuner launches millions of times. */
typedef struct hostcuda_settings {
    int cc;                           /* 90 is 9.0 */
    double execute, moved, noise;     /* $HOSTCUDA_EXECUTE and so on */
    bool counts_energy;               /* $HOSTCUDA_WATTS is set: */
    double idle, active, drift, vary; /* its four numbers */
} hostcuda_settings;

typedef struct hostcuda_process {
    bool is_initialized, is_child; /* cuInit was called; and then fork() */
    hostcuda_settings set;
    int n_devices;
    long calls, allocs;
    hostcuda_faults faults; /* faults of "driver" */
    CUresult pending;       /* found at the next call that synchronises ... */
    CUresult sticky;        /* ... and then returned by every call */
    bool is_hung;           /* the next call that synchronises never returns */
    double clock_us;        /* virtual */
    double joules;          /* of launches and copies, beyond idle power */
    long n_reads;           /* copies to the host */
    bool after_event;       /* an event was recorded, and nothing launched or awaited since */
    const void
        *module_left_out; /* a timed launch of this module did not run, so those that follow must not */
    int n_live;           /* modules, streams, events, contexts in use */
    struct CUctx_st primary[HOSTCUDA_DEVICES_MAX];
} hostcuda_process;

extern hostcuda_process hostcuda_state;

/* Lets virtual time pass for a launch or a copy, which takes `hungry` times the usual power. */
void hostcuda_pass(double us, double hungry);

/* Conditions of a call. */
typedef enum hostcuda_need {
    NEEDS_NOTHING,
    NEEDS_INIT,
    NEEDS_CONTEXT,
    NEEDS_EVENT, /* a context; the call records an event */
    NEEDS_SYNC
} hostcuda_need;

/* Takes the lock, counts the call, and says whether it may go on; the lock falls at the end of the scope. */
typedef struct hostcuda_call {
    CUresult result;
} hostcuda_call;
hostcuda_call hostcuda_enter(hostcuda_need need);
void hostcuda_leave(hostcuda_call *call);

#define ENTER(need)                                                                                          \
    __attribute__((cleanup(hostcuda_leave))) hostcuda_call call_ = hostcuda_enter(need);                     \
    if (call_.result != CUDA_SUCCESS)                                                                        \
    return call_.result

#define REQUIRE(condition, error)                                                                            \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            return error;                                                                                    \
    } while (0)

CUcontext hostcuda_context(void); /* current in this thread */
double hostcuda_number(const char *env_name, double otherwise);
int hostcuda_shared_limit(void); /* bytes a block may opt in to */

/* ---- memory.c ---- */

typedef struct hostcuda_range {
    uintptr_t base;
    size_t bytes;
} hostcuda_range;

/* The allocation that holds all of [at, at + bytes); bytes 0 if none does. */
hostcuda_range hostcuda_find(CUdeviceptr at, size_t bytes);
/* True if nothing was written around an allocation; says so on stderr otherwise. */
bool hostcuda_memory_intact(void);
void hostcuda_free_all(CUcontext ctx);
size_t hostcuda_live_allocations(void);

/* ---- stream.c ---- */

bool hostcuda_is_stream(CUstream stream);

/* ---- graph.c ---- */

/* For calls that may wait for the device: CUDA_SUCCESS, or the error while a capture forbids them. */
CUresult hostcuda_may_be_unsafe(void);

/* ---- launch.c ---- */

typedef struct hostcuda_geometry {
    unsigned grid[3], block[3], shared_bytes;
    double moved_bytes; /* a guess from the arguments */
} hostcuda_geometry;

/* Writes a launch down (graph.c), or makes it: arguments have been checked, the lock is held. */
CUresult hostcuda_capture(CUgraph graph, CUfunction fn, const hostcuda_geometry *g, void **args);
CUresult hostcuda_launch(CUfunction fn, hostcuda_geometry *g, void **args);
/* Runs the launch that was held back, or drops it if an event comes next. Every call begins with it. */
void hostcuda_launch_held(bool before_event);

/* ---- cost.c ---- */

double hostcuda_launch_us(const hostcuda_geometry *g);
double hostcuda_copy_us(size_t bytes);

#endif
