/* The context behind tt_ctx, for the other files of this folder and for the tuner. */
#ifndef TT_DISPATCH_CONTEXT_H
#define TT_DISPATCH_CONTEXT_H

#include <pthread.h>

#include "db/store.h"
#include "dispatch/plan_cache.h"
#include "template/template.h"

struct tt__answers;
struct tt__tuned;

/* Tunes one problem among these templates on a device, within so many seconds, and stores what it finds. */
typedef tt_status (*tt__tune_fn)(tt_ctx *ctx, const tt__template_set *templates, const tt__problem *p,
                                 int device, double budget_s);

/* Locks are taken in the order tuning, making, lock. */
struct tt_ctx {
    tt__store *store;
    tt__store *system;          /* the layer below it, read-only; NULL: none */
    pthread_mutex_t lock;       /* of the store */
    pthread_mutex_t making;     /* of adding to the plan cache: one plan at a time is made for it */
    pthread_mutex_t tuning;     /* of tuning on first use: one at a time, and nothing else waits for it */
    tt__template_set templates; /* immutable */
    char gpu_name[TT__GPU_NAME_MAX]; /* of tt_open_opts; "" : the current CUDA context's */
    bool read_only;
    double tune_budget_s; /* 0: no tuning on first use */
    tt__tune_fn tune;     /* NULL: this library cannot */
    bool no_early_launch;
    tt__plan_cache plans;
    struct tt__answers *answers; /* of tt_best */
    struct tt__tuned *tuned;     /* first_use.c's */
};

/* tt_open and tt_close, with the tuner as `tune`. */
tt_status tt__context_open(tt_ctx **out, const tt_open_opts *opts, tt__tune_fn tune);
void tt__context_close(tt_ctx *ctx);

/* Which GPU the context answers for, and its id in the store (-1: the store has never seen it). */
tt_status tt__context_gpu(tt_ctx *ctx, tt__gpu *gpu, int64_t *gpu_id);

#endif
