/*
 * The live backend: one event loop over a GPU worker and the compile workers. A job waits for its cubin, is
 * queued for the GPU, tried, and handed out; compiling and measuring overlap by themselves. What its files
 * know of each other.
 */
#ifndef TT_TUNER_LIVE_LIVE_H
#define TT_TUNER_LIVE_LIVE_H

#include "tuner/backend.h"
#include "tuner/farm/crew.h"
#include "tuner/farm/cubins.h"
#include "tuner/farm/timeline.h"

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

typedef struct tt__live {
    tt__backend base;
    tt__live_opts opts;
    tt__crew crew;
    tt__cubins cubins;
    tt__cubin **compiling; /* by each worker */
    tt__timeline timeline;
    tt__problem problem;
    tt__workload work;
    tt__arrays_state state; /* of its arrays in the GPU worker */
    int failures;           /* to open it, one behind the other */
    tt__cubin *checker;     /* the verifier's kernels */
    tt__cubin *reference;   /* the task's, or NULL */
    const tt__task *expected;
    double started_s;         /* the workers */
    bool presumed, described; /* the GPU */
    bool mistaken;            /* what was presumed cannot be compiled for */
    double cutoff_us;
    tt__job jobs[TT__JOBS_MAX];
    uint64_t submitted;
    bool at_finals;
    tt__msg_done finals_done; /* when they are over, and how the finalists did */
    tt__trial finalists[TT__FINALISTS_MAX];
    int n_falls; /* of the GPU's clocks */
} tt__live;

/* ---- loop.c: one event after the other ---- */

/* Gives everybody something to do, waits a little for something to happen, and sees to it. */
tt_status tt__live_turn(tt__live *l);
/* The oldest job in a state, or TT__NO_JOB. */
int tt__live_oldest(const tt__live *l, tt__job_state state);
/* Moves on the jobs whose cubins have come, or will not come. */
void tt__live_promote(tt__live *l);
/* An idle GPU gets a trial, a busy one also the next, so that it need not wait for us in between. */
tt_status tt__live_feed_gpu(tt__live *l);

/* ---- gpu.c: what is asked of the GPU worker, and what it answers ---- */

/* The GPU worker is gone, or of no more use: what was waiting for it waits for the next one. */
void tt__live_drop_gpu(tt__live *l);
/* The arrays, once there is what they are filled and checked with. */
tt_status tt__live_prepare(tt__live *l);
/* Sends the problem to the GPU worker, which is started again if it died. */
tt_status tt__live_open_problem(tt__live *l);
/* A worker that dies over a problem, before any kernel of a template has run, deserves another chance; a
 * reference that does not end gets none. */
tt_status tt__live_try_again(tt__live *l, tt_status status);
/* How long preparing the arrays may take. */
double tt__live_preparing_s(const tt__live *l);
/* Asks for the trial of a job; of a worker that is busy with another trial it is the next. */
void tt__live_ask_trial(tt__live *l, size_t at, const char *waited_for);
/* Its replies, which are in the crew's payload. */
tt_status tt__live_opened(tt__live *l);
void tt__live_tried(tt__live *l, tt__job *j);
void tt__live_finished(tt__live *l);
/* What the GPU worker reports; one that has lost its CUDA context is of no more use. */
tt_status tt__live_adopt(tt__live *l, const tt__msg_done *done);

/* ---- finals.c ---- */

tt_status tt__live_finals(tt__backend *b, const tt__candidate *const *c, size_t n, tt__rounds rounds,
                          tt__trial *trials);

/* ---- hello.c: which GPU it is, presumed and then known ---- */

tt_status tt__live_name(tt__backend *b, char out[TT__GPU_NAME_MAX]);
void tt__live_presume(tt__backend *b, const tt__gpu *gpu);
tt_status tt__live_hello(tt__backend *b, tt__gpu *gpu, tt__env *env);

#endif
