/*
 * The GPU backend: one event loop over the workers. A job waits for its cubin, then for a GPU, is tried,
 * and is returned. Compiling and measuring overlap. All GPUs are alike, so any of them may try a job.
 */
#ifndef TT_TUNER_BACKEND_GPU_EVENT_LOOP_H
#define TT_TUNER_BACKEND_GPU_EVENT_LOOP_H

#include "tuner/backend/gpu/backend_gpu.h"
#include "tuner/farm/cubins.h"
#include "tuner/farm/trace.h"
#include "tuner/farm/workers.h"

enum { TT__JOBS_MAX = 384 + TT__LANES_MAX, TT__NO_JOB = -1 };

typedef enum tt__job_state {
    TT__JOB_FREE,
    TT__JOB_TO_COMPILE,
    TT__JOB_TO_TRY,
    TT__JOB_TRYING,
    TT__JOB_DONE
} tt__job_state;

typedef struct tt__job {
    tt__job_state state;
    size_t id, lane;
    uint64_t order; /* of submission */
    const tt__configuration *c;
    tt__launch launch;
    tt__cubin *cubin;
    tt__checks checks;
    size_t gpu;             /* TRYING: where */
    size_t lost_by;         /* 1 + the GPU that was lost with it, and does not get it again; 0: none */
    const char *waited_for; /* the GPU was waiting for this when the job came */
    tt__trial trial;
} tt__job;

typedef enum tt__arrays_state {
    TT__ARRAYS_CLOSED,
    TT__ARRAYS_STARTING, /* its worker starts */
    TT__ARRAYS_OPENING,
    TT__ARRAYS_OPEN
} tt__arrays_state;

/* A problem as the GPU workers need it. */
typedef struct tt__task {
    uint64_t number; /* of the problem in this run, from 1 on; 0: none */
    tt__problem problem;
    tt__workload work;
    tt__cubin *checkers[TT__CHECKER_PARTS]; /* the checker's kernels: tt__verify_parts */
    tt__cubin *reference;                   /* the operation's, or NULL */
    bool noted;                             /* the notes on its reference were told */
} tt__task;

/* Finals, on a GPU that does nothing else until they are over. */
typedef enum tt__finals_state {
    TT__FINALS_IDLE,   /* between requests */
    TT__FINALS_ASKED,  /* they wait for a GPU */
    TT__FINALS_ON_GPU, /* measured */
    TT__FINALS_DONE
} tt__finals_state;

typedef struct tt__lane_finals {
    tt__finals_state state;
    size_t held; /* 1 + their GPU; 0: none */
    const tt__configuration *c[TT__FINALISTS_MAX];
    tt__launch launches[TT__FINALISTS_MAX];
    tt__cubin *cubins[TT__FINALISTS_MAX];
    size_t n;
    tt__rounds rounds;
    double lap_us;  /* the times of `c` together; 0: not known */
    double train_s; /* above 0: energies, too */
    double begin_s;
    tt__msg_done done; /* DONE: how they ended, and the trials */
    tt__trial trials[TT__FINALISTS_MAX];
} tt__lane_finals;

/* A problem under way, or none. */
typedef struct tt__loop_lane {
    tt__task task;
    bool is_fresh; /* prepared, and no trial was requested */
    double cutoff_us;
    double await_s; /* of tt__backend_ops.await_until */
    tt__lane_finals finals;
} tt__loop_lane;

/* A GPU and its worker, which has the same index. */
typedef struct tt__loop_gpu {
    size_t lane;            /* what it works on */
    bool holds_finals;      /* of its lane; else it tries configurations */
    tt__arrays_state state; /* of the arrays ... */
    uint64_t task;          /* ... of this problem */
    bool given_up;          /* it gets no more work in this run */
    int failures;           /* consecutive failures to open a problem */
    int strikes;            /* trials that it lost and another GPU did */
    int late;               /* its last finals that took too long, one after the other */
    double started_s;       /* STARTING: when */
    unsigned sm_mhz;        /* clock of the last trial; 0: unknown */
    bool is_slow;           /* its lower clock was reported */
    const char *lacked;     /* what it has waited for since it became idle; NULL: nothing */
} tt__loop_gpu;

typedef struct tt__loop {
    tt__backend base;
    tt__backend_gpu_opts opts;
    tt__workers workers;
    tt__cubins cubins;
    tt__cubin **compiling; /* for each worker */
    tt__timeline timeline;
    tt__loop_lane *lanes[TT__LANES_MAX]; /* allocated when first used */
    size_t at;                           /* the current one */
    uint64_t n_tasks;
    tt__loop_gpu gpus[TT__GPUS_MAX];
    bool greeted; /* a GPU's worker has started, and knows the probable name, or "" */
    char presumed_name[TT__GPU_NAME_MAX];
    bool presumed; /* the GPU is a guess until CUDA describes it */
    bool described;
    bool mistaken; /* the guessed GPU cannot be compiled for */
    tt__job jobs[TT__JOBS_MAX];
    uint64_t submitted;
    bool at_count;              /* or at the peaks */
    tt__cubin *peaks;           /* the checker's kernels for them, or NULL */
    size_t count_gpu;           /* of counts and peaks */
    int n_falls;                /* falls of the GPU's clocks */
    const tt__template *warned; /* the last whose constants were looked at */
} tt__loop;

/* One turn of the loop: hands out work, waits a little for an event, and handles it. TT_E_INTERRUPTED:
 * should_stop returned non-zero. */
tt_status tt__loop_turn(tt__loop *l);
/* The oldest job in a state, or TT__NO_JOB. */
int tt__loop_oldest(const tt__loop *l, tt__job_state state);
/* Advances the jobs whose cubins arrived or failed. */
void tt__loop_promote(tt__loop *l);
/* Gives idle GPUs a trial. A busy GPU gets the next trial too, so that it never waits for this process. */
tt_status tt__loop_feed_gpu(tt__loop *l);
/* A job's trial has ended. */
void tt__loop_finish(tt__job *j, tt__trial_status status, const char *reason);
/* The current lane. */
tt__loop_lane *tt__loop_now(const tt__loop *l);

/* ---- Which GPU works for which lane ---------------------------------------------------------- */

/* Has another lane a lost trial for which no other GPU has come, and its own lane none for this one? */
bool tt__loop_is_called(const tt__loop *l, size_t gpu);
/* Keeps a GPU in its lane if that has trials for it. Otherwise it goes to the lane that has fewest GPUs, and
 * then to the oldest trial. False: there is nothing for it. */
bool tt__loop_find_work(tt__loop *l, size_t gpu);
/* Requests arrays where the kernels that fill and check them are ready. */
tt_status tt__loop_prepare(tt__loop *l);

/* ---- Compile workers: what they compile next, and what becomes of it ------------------------- */

/* A cubin has arrived or failed. */
tt_status tt__loop_compiled(tt__loop *l, size_t worker);

/* ---- GPU workers: started, given a problem and trials, lost, given up ------------------------ */

/* Sends its problem to a GPU's worker, or starts the worker if there is none. */
tt_status tt__loop_open_problem(tt__loop *l, size_t gpu);
/* Takes a report from a GPU's worker. A worker that has lost its CUDA context is unusable. */
tt_status tt__loop_adopt(tt__loop *l, size_t gpu, const tt__msg_done *done);
/* A GPU's worker died or is unusable. Its jobs wait for another worker. */
void tt__loop_drop_gpu(tt__loop *l, size_t gpu);
/* Gives up a GPU that others can replace, and says so. Fails with `status` if it is the last. */
tt_status tt__loop_give_up(tt__loop *l, size_t gpu, tt_status status);
/* A worker died, or took too long. */
tt_status tt__loop_lost_gpu(tt__loop *l, const tt__event *e);

/* ---- Finals: each has a GPU for itself, while the others try configurations ------------------ */

/* A GPU for finals, if possible one with the lane's arrays; TT__GPUS_MAX: none is free. A clock below its
 * twins' rules a GPU out, because medians would differ. */
size_t tt__loop_choose_gpu(tt__loop *l, size_t lane);
/* Goes on with finals that wait for a GPU, or for its arrays. */
tt_status tt__loop_feed_finals(tt__loop *l);
/* A GPU's finals have ended: the reply is in `payload`. */
tt_status tt__loop_finished(tt__loop *l, size_t gpu);
/* A GPU was lost during finals. Another one holds them anew. If it was the last, they fail. */
tt_status tt__loop_lost_finals(tt__loop *l, size_t gpu, tt_status status);
/* A GPU's finals took too long, and fail. The GPU stays, as the others would take as long. If it is late
 * again and another GPU was not, it is given up. */
tt_status tt__loop_late_finals(tt__loop *l, size_t gpu);
/* The GPU of the lane's finals does none any more. */
void tt__loop_release(tt__loop *l, size_t lane);

#endif
