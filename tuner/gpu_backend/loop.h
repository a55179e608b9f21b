/* The GPU backend: one event loop over the workers. A job waits for its cubin, then for the GPU, is
 * tried, and handed out; compiling and measuring overlap. */
#ifndef TT_TUNER_GPU_BACKEND_LOOP_H
#define TT_TUNER_GPU_BACKEND_LOOP_H

#include "tuner/farm/cubins.h"
#include "tuner/farm/timeline.h"
#include "tuner/farm/workers.h"
#include "tuner/gpu_backend/backend.h"

enum { TT__JOBS_MAX = 256, TT__NO_JOB = -1 };

typedef enum tt__job_state {
    TT__JOB_FREE,
    TT__JOB_TO_COMPILE,
    TT__JOB_TO_TRY,
    TT__JOB_TRYING,
    TT__JOB_DONE
} tt__job_state;

typedef struct tt__job {
    tt__job_state state;
    size_t id;
    uint64_t order; /* of submission */
    const tt__candidate *c;
    tt__cubin *cubin;
    const char *waited_for; /* what the GPU lacked when this came */
    tt__trial trial;
} tt__job;

typedef enum tt__arrays_state { TT__ARRAYS_CLOSED, TT__ARRAYS_OPENING, TT__ARRAYS_OPEN } tt__arrays_state;

typedef struct tt__loop {
    tt__backend base;
    tt__backend_gpu_opts opts;
    tt__workers workers;
    tt__cubins cubins;
    tt__cubin **compiling; /* by each worker */
    tt__timeline timeline;
    tt__problem problem;
    tt__workload work;
    tt__arrays_state state; /* of its arrays in the GPU worker */
    int failures;           /* to open it, one behind the other */
    tt__cubin *checker;     /* the verifier's kernels */
    tt__cubin *reference;   /* the operation's, or NULL */
    bool presumed;          /* the GPU: until it is described */
    bool described;
    bool mistaken; /* the presumed GPU cannot be compiled for */
    double cutoff_us;
    tt__job jobs[TT__JOBS_MAX];
    uint64_t submitted;
    bool at_finals;
    tt__msg_done finals_done; /* when they are over, and how the finalists did */
    tt__trial finalists[TT__FINALISTS_MAX];
    int n_falls; /* of the GPU's clocks */
} tt__loop;

/* One turn of the loop: hands out work, waits a little for an event, and handles it. TT_E_INTERRUPTED if
 * should_stop says so. */
tt_status tt__loop_turn(tt__loop *l);
/* The oldest job in a state, or TT__NO_JOB. */
int tt__loop_oldest(const tt__loop *l, tt__job_state state);
/* Moves on the jobs whose cubins have come, or will not come. */
void tt__loop_promote(tt__loop *l);
/* An idle GPU gets a trial, a busy one also the next, so that it need not wait for us in between. */
tt_status tt__loop_feed_gpu(tt__loop *l);

/* The GPU worker is gone, or of no more use: what was waiting for it waits for the next one. */
void tt__loop_drop_gpu(tt__loop *l);
/* The arrays, once there is what they are filled and checked with. */
tt_status tt__loop_prepare(tt__loop *l);
/* Sends the problem to the GPU worker, which is started again if it died. */
tt_status tt__loop_open_problem(tt__loop *l);
/* What the GPU worker reports; one that has lost its CUDA context is of no more use. */
tt_status tt__loop_adopt(tt__loop *l, const tt__msg_done *done);

#endif
