/* The worker processes of one tuning run: the GPU worker first, then the compile workers. */
#ifndef TT_TUNER_FARM_CREW_H
#define TT_TUNER_FARM_CREW_H

#include "tuner/farm/cubins.h"
#include "tuner/farm/protocol.h"
#include "tuner/farm/worker.h"

enum { TT__CREW_GPU = 0, TT__CREW_COMPILER = 1 }; /* the GPU worker, and the first of the compilers */

typedef struct tt__crew {
    int device;
    size_t n;
    double compile_timeout_s;
    tt__worker *workers;
    tt__gpu gpu; /* after tt__crew_described */
    tt__env env;
    tt__msg_done compiling; /* can the compilers compile? */
    tt__str payload;        /* of the last reply; 0..n-1 have one reply buffer between them */
    int (*should_stop)(void *user);
    void *user;
} tt__crew;

extern const double tt__crew_start_timeout_s, tt__crew_poll_s;

/* jobs 0: one compiler per CPU. Starts nothing yet. */
tt_status tt__crew_open(tt__crew *crew, int device, int jobs, double compile_timeout_s,
                        int (*should_stop)(void *user), void *user);
void tt__crew_close(tt__crew *crew);

/* Starts all workers, and waits for the GPU worker's greeting, which has the GPU's probable name or "", and
 * for that of the first compiler. The GPU worker is then asked to describe its GPU, and busy until CUDA has
 * started. */
tt_status tt__crew_start_all(tt__crew *crew, char gpu_name[TT__GPU_NAME_MAX]);
/* Takes the GPU and the environment from the description, which is in `payload`. TT_E_NO_DRIVER,
 * TT_E_NO_DEVICE, TT_E_NO_NVRTC, or TT_E_NO_DRIVER if the driver is older than NVRTC. */
tt_status tt__crew_described(tt__crew *crew);
/* Starts the GPU worker again, and waits until it is ready. */
tt_status tt__crew_restart_gpu(tt__crew *crew);

/* Starts worker i; it is busy until its hello. */
tt_status tt__crew_start(tt__crew *crew, size_t i);
/* Waits until worker i, and only it, has answered: with a message of this type, now in `payload`. */
tt_status tt__crew_wait_for(tt__crew *crew, size_t i, uint32_t type);
/* TT_E_INTERRUPTED if should_stop says so. */
tt_status tt__crew_stop_asked(const tt__crew *crew);
/* The status that a worker reports, as this process's own. */
tt_status tt__crew_adopt(const tt__msg_done *done);

/* Asks an idle compiler; the reply is a tt__msg_compiled with the cubin behind it. */
void tt__crew_ask_compile(tt__crew *crew, size_t i, const char *name, const char *source,
                          const tt__str *options, int n_options);

/* Asks the GPU worker to get ready for a problem, for a trial, for the finals of n (<= TT__FINALISTS_MAX).
 * Cubins are READY; `reference` may be NULL. A trial may be asked for while another is under way
 * (tt__worker_ask). */
void tt__crew_ask_problem(tt__crew *crew, const tt__problem *p, const tt__workload *w,
                          const tt__cubin *checker, const tt__cubin *reference, double timeout_s);
void tt__crew_ask_trial(tt__crew *crew, size_t job, double timeout_s, const tt__candidate *c,
                        const tt__cubin *cubin, double cutoff_us);
void tt__crew_ask_finals(tt__crew *crew, double timeout_s, const tt__candidate *const *c,
                         tt__cubin *const *cubins, size_t n, tt__rounds rounds);

#endif
