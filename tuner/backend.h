/*
 * What can say how fast a configuration is: a GPU behind worker processes, or a recording of one. The
 * session, and any strategy, see no difference.
 */
#ifndef TT_TUNER_BACKEND_H
#define TT_TUNER_BACKEND_H

#include "db/store.h"
#include "template/template.h"
#include "tuner/trace.h"

typedef struct tt__backend tt__backend;

/* One table of functions per kind; every one is called from the session's thread only. */
typedef struct tt__backend_ops {
    /* The probable name of the GPU, long before hello can tell all of it; "": not known. May be NULL. */
    tt_status (*name)(tt__backend *b, char out[TT__GPU_NAME_MAX]);
    /* Until hello has told, the GPU is taken for this one: what is expected meanwhile can be prepared. May be
     * NULL. */
    void (*presume)(tt__backend *b, const tt__gpu *gpu);
    /* Whose results these are. */
    tt_status (*hello)(tt__backend *b, tt__gpu *gpu, tt__env *env);
    /* What follows is about this problem of the task of `t`; trials that are outstanding are given up.
     * TT_E_NO_MEMORY if it does not fit. */
    tt_status (*problem)(tt__backend *b, const tt__problem *p, const tt__template *t);
    /* This candidate for that problem will probably be submitted: what can be prepared may be, once nothing
     * that is submitted has to wait for it. Copied. May be NULL. */
    tt_status (*expect)(tt__backend *b, const tt__candidate *c, const tt__problem *p);
    /* These n of the problem at hand will probably be submitted soon, the first of them first: they come
     * before all that is expected, and replace those of the last call. Copied. May be NULL. */
    tt_status (*expect_next)(tt__backend *b, const tt__candidate *const *c, size_t n);
    /* Trials of the problem follow: what they need of the device can be made ready meanwhile. Does not wait.
     * May be NULL. */
    tt_status (*prepare)(tt__backend *b);
    /* How many more trials it is worth having outstanding. */
    size_t (*room)(const tt__backend *b);
    /* Asks for a trial; the candidate is borrowed until its trial has come back. Screening may stop early
     * for a configuration slower than cutoff_us (0: never) of the latest call. `id` is the caller's. */
    tt_status (*submit)(tt__backend *b, size_t id, const tt__candidate *c, double cutoff_us);
    /* Waits for the next trial to end. TT_E_INTERRUPTED if should_stop said so. */
    tt_status (*wait)(tt__backend *b, size_t *id, tt__trial *trial);
    /* Measures the n candidates again, in interleaved rounds: trials[i] has a sample for each round, so that
     * samples pair up. One that is not ok (not in the recording) is out of the finals. */
    tt_status (*finals)(tt__backend *b, const tt__candidate *const *c, size_t n, tt__rounds rounds,
                        tt__trial *trials);
    void (*close)(tt__backend *b);
} tt__backend_ops;

struct tt__backend {
    const tt__backend_ops *ops;
    /* Called during finals, unless it is NULL, while the device is at work and compilers may be idle: what
     * comes next can be planned, and expected. */
    void (*meanwhile)(void *user);
    void *user;
};

enum { TT__FINALISTS_MAX = 32, TT__FINAL_ROUNDS = 31, TT__FINAL_ROUNDS_MAX = 127 };

typedef struct tt__live_opts {
    int device, jobs;
    double trial_timeout_s, compile_timeout_s;
    tt__store *store; /* its cubins are used, and added to */
    tt__trace *trace; /* may be NULL */
    int (*should_stop)(void *user);
    void (*on_message)(void *user, const char *line); /* may be NULL */
    void *user;
} tt__live_opts;

/* A CUDA device, behind a GPU worker and a farm of compile workers. */
tt_status tt__backend_live(tt__backend **out, const tt__live_opts *opts);

/* A recording; compiles and launches nothing. `should_stop` may be NULL. */
tt_status tt__backend_replay(tt__backend **out, const char *path, int (*should_stop)(void *user), void *user);

#endif
