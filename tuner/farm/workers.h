/*
 * The worker processes of a tuning run, seen from the tuner. One is started, gets requests, is killed if it
 * takes too long, and is replaced if it dies. A crash of a compiler or kernel ends only its worker.
 */
#ifndef TT_TUNER_FARM_WORKERS_H
#define TT_TUNER_FARM_WORKERS_H

#include <sys/types.h>

#include "tuner/farm/cubins.h"
#include "tuner/farm/protocol.h"

typedef struct tt__worker {
    pid_t pid; /* 0: not running */
    int fd, bell;
    bool busy;          /* a reply is expected */
    double deadline_s;  /* on the clock of tt__now_s, while busy */
    double seen_s;      /* while busy: when tt__worker_wait_any last looked ... */
    double computed_s;  /* ... and the caller's CPU time then */
    size_t job;         /* the caller's number for the current request */
    size_t ahead_bytes; /* largest request that can be sent while it is busy */
    bool ahead;         /* another request is waiting ... */
    size_t job_ahead;
    double timeout_ahead_s;
} tt__worker;

/* Starts `tiletune-worker ROLE ARG`. It is busy until its hello, which must come within timeout_s. */
tt_status tt__worker_start(tt__worker *w, const char *role, const char *arg, double timeout_s);
/* Kills and reaps it. Does nothing if it is not running. */
void tt__worker_stop(tt__worker *w);

/* Has an idle worker died? The next request would be blamed for it. */
bool tt__worker_gone(const tt__worker *w);

/* Sends a request to a worker that is idle, or busy without a waiting request. A waiting request must fit the
 * socket's buffer (ahead_bytes), or this blocks. Its time limit begins at its turn. It is lost with the
 * worker. A dead worker is no error here, but shows in tt__worker_wait_any. */
void tt__worker_ask(tt__worker *w, size_t job, double timeout_s, uint32_t type, const struct iovec *parts,
                    int n);

typedef enum tt__event_kind {
    TT__EVENT_REPLY,
    TT__EVENT_TIMEOUT,
    TT__EVENT_CRASHED,
    TT__EVENT_NONE
} tt__event_kind;

typedef struct tt__event {
    tt__event_kind kind;
    size_t worker;   /* index */
    size_t job;      /* the caller's number: of the replied or the lost request */
    uint32_t type;   /* REPLY */
    char reason[96]; /* CRASHED, TIMEOUT: "was killed by signal 11 (Segmentation fault)" */
} tt__event;

/* Waits up to wait_s for the first event of busy workers. REPLY: the payload is filled in, and the worker is
 * idle, or busy with its waiting request. TIMEOUT, CRASHED: the worker was stopped. NONE: nothing happened,
 * or a signal came. Time limits leave out the time in which this process was stopped, as by Ctrl-Z. */
tt_status tt__worker_wait_any(tt__worker *workers, size_t n, double wait_s, tt__event *event,
                              tt__str *payload);

/* ---- All of a run: one for each GPU first, then those that compile ---------------------------- */

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

/* Starts worker i, which is busy until its hello. */
tt_status tt__workers_start(tt__workers *workers, size_t i);
/* TT_E_INTERRUPTED: should_stop returned non-zero. */
tt_status tt__workers_stop_asked(const tt__workers *workers);
/* Makes a worker's status and message this process's last error. */
tt_status tt__workers_adopt(const tt__msg_done *done);

/* Requests a compile. The reply is a tt__msg_compiled followed by the cubin. */
void tt__workers_ask_compile(tt__workers *workers, size_t i, const char *name, const char *source,
                             const tt__str *options, int n_options, double timeout_s);

/* Request from GPU worker i a problem, a trial, or the finals of n (<= TT__FINALISTS_MAX). Cubins are
 * READY; There are tt__verify_parts
 * checkers, and `reference` may be NULL. A trial may be requested during another one (tt__worker_ask). */
void tt__workers_ask_problem(tt__workers *workers, size_t i, const tt__problem *p, const tt__workload *w,
                             bool fresh_data, tt__cubin *const *checkers, const tt__cubin *reference,
                             double timeout_s);
void tt__workers_ask_trial(tt__workers *workers, size_t i, size_t job, double timeout_s,
                           const tt__configuration *c, const tt__launch *launch, const tt__cubin *cubin,
                           const tt__checks *checks, double cutoff_us);
void tt__workers_ask_finals(tt__workers *workers, size_t gpu, double timeout_s,
                            const tt__configuration *const *c, const tt__launch *launches,
                            tt__cubin *const *cubins, size_t n, tt__rounds rounds, double train_s);
void tt__workers_ask_peaks(tt__workers *workers, size_t i, double timeout_s, const tt__cubin *cubin);
void tt__workers_ask_bits(tt__workers *workers, size_t i, double timeout_s, const tt__bits_ask *ask,
                          const tt__configuration *c, const tt__launch *launch, const tt__cubin *cubin,
                          const tt__checks *checks);
void tt__workers_ask_count(tt__workers *workers, size_t i, double timeout_s, const tt__configuration *c,
                           const tt__launch *launch, const tt__cubin *cubin);

/* ---- A compile worker for callers without a farm ---------------------------------------------- */

/* Zero-initialise. It starts with the first compile, and again after a compile that took it down. */
typedef struct tt__compiler {
    tt__workers workers;
    bool open;
} tt__compiler;

/* tt__nvrtc_compile in a worker with limits on memory and time. timeout_s 0: 60.
 * TT_E_COMPILE also means that the compiler crashed or exceeded a limit. */
tt_status tt__compile_one(tt__compiler *c, tt__str *cubin, const char *name, const char *source,
                          const tt__str *options, int n_options, int cc, double timeout_s);
void tt__compiler_close(tt__compiler *c);

#endif
