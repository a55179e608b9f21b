/*
 * The worker processes of a tuning run: one for each GPU first, then the compile workers.
 */
#ifndef TT_TUNER_FARM_WORKERS_H
#define TT_TUNER_FARM_WORKERS_H

#include "tuner/farm/cubins.h"
#include "tuner/farm/protocol.h"
#include "tuner/farm/worker.h"

enum { TT__GPUS_MAX = 64 };

/* Requests that are too large for a stack. */
typedef struct tt__requests {
    tt__msg_problem problem;
    tt__msg_trial finalists[TT__FINALISTS_MAX];
} tt__requests;

typedef struct tt__workers {
    int devices[TT__GPUS_MAX];
    size_t n_gpus; /* also the index of the first compiler */
    size_t n;
    tt__worker *items;
    tt__gpu gpu; /* after tt__workers_described, as the next two */
    bool counts_energy;
    tt__env env;
    tt__msg_done compiling; /* can the compilers compile? */
    tt__str payload;        /* the last reply; workers 0 to n-1 share it */
    tt__requests *requests;
    int (*should_stop)(void *user);
    void *user;
} tt__workers;

extern const double tt__workers_start_timeout_s, tt__workers_poll_s;

/* The number of CPUs that this thread and its children may use, at least 1. taskset and batch systems allow
 * fewer than are online. */
int tt__n_cpus(void);

/* n_gpus (1 to TT__GPUS_MAX) devices. jobs 0: one compiler per CPU that this process may use.
 * Nothing is started yet. */
tt_status tt__workers_open(tt__workers *workers, const int *devices, size_t n_gpus, int jobs,
                           int (*should_stop)(void *user), void *user);
void tt__workers_close(tt__workers *workers);

/* Starts all workers, and waits for the greeting of the first compiler, which tells the version of NVRTC. */
tt_status tt__workers_start_all(tt__workers *workers);
/* Takes the GPU and the environment from the description in `payload`.
 *
 * TT_E_NO_DRIVER (also if it is older than NVRTC), TT_E_NO_DEVICE, TT_E_NO_NVRTC. */
tt_status tt__workers_described(tt__workers *workers);
/* Asks GPU worker i to describe its GPU. The reply comes when CUDA has started. */
void tt__workers_ask_description(tt__workers *workers, size_t i);

static inline size_t tt__workers_compilers(const tt__workers *workers) {
    return workers->n - workers->n_gpus;
}

/* The limit on a compiler's memory. */
int64_t tt__workers_compiler_bytes(const tt__workers *workers);
/* Starts worker i, which is busy until its hello. */
tt_status tt__workers_start(tt__workers *workers, size_t i);
/* Waits for a message of this type from worker i only. It is then in `payload`. */
tt_status tt__workers_wait_for(tt__workers *workers, size_t i, uint32_t type);
/* TT_E_INTERRUPTED: should_stop returned non-zero. */
tt_status tt__workers_stop_asked(const tt__workers *workers);
/* Makes a worker's status and message this process's last error. */
tt_status tt__workers_adopt(const tt__msg_done *done);

/* Requests a compile. The reply is a tt__msg_compiled followed by the cubin. */
void tt__workers_ask_compile(tt__workers *workers, size_t i, const char *name, const char *source,
                             const tt__str *options, int n_options, double timeout_s);

/* Request from GPU worker i a problem, a trial, or the finals of n (<= TT__FINALISTS_MAX). Cubins are
 * READY; `reference` may be NULL. A trial may be requested during another one (tt__worker_ask). */
void tt__workers_ask_problem(tt__workers *workers, size_t i, const tt__problem *p, const tt__workload *w,
                             const tt__cubin *checker, const tt__cubin *reference, double timeout_s);
void tt__workers_ask_trial(tt__workers *workers, size_t i, size_t job, double timeout_s,
                           const tt__candidate *c, const tt__cubin *cubin, const tt__checks *checks,
                           double cutoff_us);
void tt__workers_ask_finals(tt__workers *workers, size_t gpu, double timeout_s, const tt__candidate *const *c,
                            tt__cubin *const *cubins, size_t n, tt__rounds rounds, double train_s);
void tt__workers_ask_peaks(tt__workers *workers, size_t i, double timeout_s, const tt__cubin *cubin);
void tt__workers_ask_bits(tt__workers *workers, size_t i, double timeout_s, const tt__bits_ask *ask,
                          const tt__candidate *c, const tt__cubin *cubin, const tt__checks *checks);
void tt__workers_ask_count(tt__workers *workers, size_t i, double timeout_s, const tt__candidate *c,
                           const tt__cubin *cubin);

#endif
