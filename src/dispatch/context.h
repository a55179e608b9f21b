/*
 * The struct of tt_ctx, for this folder and the tuner.
 */
#ifndef TT_DISPATCH_CONTEXT_H
#define TT_DISPATCH_CONTEXT_H

#include <pthread.h>

#include "db/store.h"
#include "dispatch/plan_cache.h"
#include "kernel/load/builtin.h"
#include "kernel/model/template.h"

struct tt__collector;
struct tt__knowledge;
struct tt__modules;
struct tt__plan_maker;
struct tt__tuned;

/* Tunes one problem with these templates on a device, for about so many seconds, and stores the results. */
typedef tt_status (*tt__tune_fn)(tt_ctx *ctx, const tt__template_set *templates, const tt__problem *p,
                                 int device, double budget_s);

/* Locks are taken in the order `tuning`, `making`, `lock`. */
struct tt_ctx {
    tt__store *store;
    tt__store *system;             /* read-only; NULL: none */
    pthread_mutex_t lock;          /* protects the stores; a look-up of a new problem does not need them */
    pthread_mutex_t making;        /* protects what writes to the plan cache, and the next three */
    pthread_cond_t made;           /* a plan has been made, or could not be */
    struct tt__plan_maker *makers; /* api/plan.c's: threads that make a plan for the cache */
    bool tune_waits;               /* until there are none: no more may begin */
    /* held while a problem is tuned on first use, one at a time; nothing else waits for it */
    pthread_mutex_t tuning;
    tt__template_set templates; /* immutable */
    _Atomic(const tt__template *)
        asked; /* one of them, which solves the problem that was looked up last; or NULL */
    char gpu_name[TT__GPU_TEXT_MAX]; /* from tt_open_opts; "": the GPU of the current CUDA context */
    bool read_only;
    char unkept[512]; /* why nothing is kept: there is no default store, so that this one is in memory, or the
                         last question had to write to a copy; "": all is */
    double tune_budget_s; /* 0: no tuning on first use */
    tt__tune_fn tune;     /* NULL: this library has no tuner */
    bool no_early_launch;
    bool locked, lock_default; /* the store is a lock file; what it lacks gets the default */
    tt__plan_cache plans;
    struct tt__collector *collector; /* NULL: nothing is collected */
    struct tt__modules *modules;
    struct tt__knowledge *knowledge;
    struct tt__tuned *tuned; /* first_use.c's */
};

#endif
