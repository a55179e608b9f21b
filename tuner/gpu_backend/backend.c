/*
 * The functions of the GPU backend. While one of them waits, the event loop continues.
 */
#include "tuner/gpu_backend/backend.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "template/operation.h"
#include "template/workload.h"
#include "tuner/ahead.h"
#include "tuner/checker.h"
#include "tuner/gpu_backend/loop.h"

/* ---- Which GPU it is: presumed by its name until CUDA has started and can describe it ------------------ */

/* Drops cubins that were compiled for a GPU that is not there, and stops their compilers. */
static void forget_cubins(tt__loop *l) {
    for (size_t w = l->workers.n_gpus; w < l->workers.n; w++) {
        if (l->compiling[w])
            tt__worker_stop(&l->workers.items[w]);
        l->compiling[w] = NULL;
    }
    tt__cubins_close(&l->cubins);
    l->cubins = (tt__cubins){.store = l->opts.store, .nvrtc = l->workers.env.nvrtc};
}

static tt_status await_description(tt__loop *l) {
    if (!l->presumed) { /* nothing was compiled */
        TT_TRY(tt__workers_wait_for(&l->workers, 0, TT__MSG_DESCRIBED));
        return tt__workers_described(&l->workers);
    }
    while (!l->described)
        TT_TRY(tt__loop_turn(l));
    return TT_OK;
}

static tt_status hello(tt__backend *b, tt__gpu *gpu, tt__env *env) {
    tt__loop *l = (tt__loop *)b;
    char name[TT__GPU_NAME_MAX];
    const double begin_s = tt__now_s();
    for (size_t i = 1; i < l->workers.n_gpus; i++) /* the others are described later, by the event loop */
        l->gpus[i] = (tt__loop_gpu){.state = TT__ARRAYS_STARTING, .started_s = begin_s};
    TT_TRY(tt__workers_start_all(&l->workers, name));
    l->cubins.nvrtc = l->workers.env.nvrtc;
    l->presumed = l->workers.n_gpus == 1 && l->workers.compiling.status == TT_OK &&
                  tt__ahead_while_cuda_starts(l->opts.ahead, name, &l->workers.gpu);
    l->cubins.cc = l->workers.gpu.cc;
    TT_TRY(await_description(l));
    tt__timeline_span(&l->timeline, 0, "start", begin_s, tt__now_s());
    *gpu = l->workers.gpu;
    *env = l->workers.env;
    if (l->mistaken || l->cubins.cc != gpu->cc)
        forget_cubins(l);
    l->cubins.cc = gpu->cc;
    l->presumed = l->mistaken = false;
    tt__ahead_forget(l->opts.ahead);
    return TT_OK;
}

/* ---- Trials -------------------------------------------------------------------------------------------- */

/* Waits for the reply about the previous problem's arrays, so that it is not taken for this problem's. */
static tt_status await_opening(tt__loop *l) {
    for (size_t i = 0; i < l->workers.n_gpus; i++)
        while (l->gpus[i].state == TT__ARRAYS_OPENING)
            TT_TRY(tt__loop_turn(l));
    return TT_OK;
}

/* Drops the jobs of an abandoned search. */
static void forget_jobs(tt__loop *l) {
    for (size_t i = 0; i < l->workers.n_gpus; i++)
        if (l->workers.items[i].busy && l->gpus[i].state == TT__ARRAYS_OPEN)
            tt__loop_drop_gpu(l, i);
    memset(l->jobs, 0, sizeof l->jobs);
}

static tt_status problem(tt__backend *b, const tt__problem *p, const tt__template *t) {
    tt__loop *l = (tt__loop *)b;
    tt__candidate c;
    forget_jobs(l);
    TT_TRY(tt__ahead_soon(l->opts.ahead, NULL, 0, p));
    TT_TRY(await_opening(l));
    l->problem = *p;
    for (size_t i = 0; i < l->workers.n_gpus; i++)
        if (l->gpus[i].state == TT__ARRAYS_OPEN)
            l->gpus[i].state = TT__ARRAYS_CLOSED;
    for (size_t i = 0; i < l->workers.n_gpus; i++)
        l->gpus[i].failures = 0;
    l->cutoff_us = 0;
    l->reference = NULL;
    TT_TRY(tt__workload_of(&l->work, t, &l->workers.gpu, p));
    if (l->work.launch.n_passes || l->work.filling.n_passes) {
        TT_TRY(tt__space_aside(&c, t->operation, l->work.launch.n_passes ? TT__REFERENCE : TT__DATA,
                               &l->workers.gpu, p, t->operation->t->default_config));
        TT_TRY(tt__cubins_want(&l->cubins, &c, p, &l->reference));
    }
    tt__verify_candidate(&c, &l->work);
    return tt__cubins_want(&l->cubins, &c, p, &l->checker);
}

static size_t room(const tt__backend *b) {
    const tt__loop *l = (const tt__loop *)b;
    size_t wanted = 2 * l->workers.n, used = 0;
    for (int i = 0; i < TT__JOBS_MAX; i++)
        used += l->jobs[i].state != TT__JOB_FREE;
    return used < wanted ? wanted - used : 0;
}

static tt_status submit(tt__backend *b, size_t id, const tt__candidate *c, double cutoff_us) {
    tt__loop *l = (tt__loop *)b;
    tt__job *j = NULL;
    for (int i = 0; i < TT__JOBS_MAX && !j; i++)
        if (l->jobs[i].state == TT__JOB_FREE)
            j = &l->jobs[i];
    if (!j)
        return tt__fail(TT_E_INTERNAL, "more than %d trials at once", TT__JOBS_MAX);
    l->cutoff_us = cutoff_us;
    tt__cubin *cubin;
    TT_TRY(tt__cubins_want(&l->cubins, c, &l->problem, &cubin));
    *j = (tt__job){.state = TT__JOB_TO_COMPILE, .id = id, .order = ++l->submitted, .c = c, .cubin = cubin};
    TT_TRY(tt__cubins_name(&l->cubins, c, &l->problem, cubin));
    tt_status status = tt__workload_checks(&j->checks, c, &l->workers.gpu, &l->problem);
    if (status != TT_E_UNSUPPORTED && status != TT_E_TEMPLATE)
        return status;
    j->state = TT__JOB_DONE; /* what verifies this configuration cannot be launched */
    j->trial.status = TT__TRIAL_LAUNCH_ERROR;
    tt__copy(j->trial.reason, sizeof j->trial.reason, tt_last_error());
    return TT_OK;
}

static tt_status wait(tt__backend *b, size_t *id, tt__trial *trial) {
    tt__loop *l = (tt__loop *)b;
    int at;
    while ((at = tt__loop_oldest(l, TT__JOB_DONE)) == TT__NO_JOB) {
        TT_TRY(tt__loop_turn(l));
        tt__loop_promote(l);
    }
    for (size_t i = 0; i < l->workers.n_gpus; i++)
        if (l->gpus[i].state == TT__ARRAYS_OPEN) {
            TT_TRY(tt__loop_feed_gpu(l)); /* the GPUs work while the caller stores this trial */
            break;
        }
    *id = l->jobs[at].id;
    *trial = l->jobs[at].trial;
    l->jobs[at] = (tt__job){0};
    return TT_OK;
}

static tt_status prepare(tt__backend *b) {
    return tt__loop_prepare((tt__loop *)b);
}

/* ---- Finals -------------------------------------------------------------------------------------------- */

static tt_status await(tt__loop *l, const tt__cubin *cubin) {
    while (cubin->state <= TT__CUBIN_COMPILING)
        TT_TRY(tt__loop_turn(l));
    return cubin->state == TT__CUBIN_READY ? TT_OK : tt__fail(TT_E_COMPILE, "%s", cubin->reason);
}

/* The first GPU whose clock is as high as its twins'. Clocks that differ would make medians differ. */
static size_t choose_gpu(tt__loop *l) {
    const double alike = 0.98;
    unsigned highest = 0;
    size_t chosen = TT__GPUS_MAX;
    char line[256];
    for (size_t i = 0; i < l->workers.n_gpus; i++)
        if (!l->gpus[i].given_up && l->gpus[i].sm_mhz > highest)
            highest = l->gpus[i].sm_mhz;
    for (size_t i = 0; i < l->workers.n_gpus; i++) {
        tt__loop_gpu *g = &l->gpus[i];
        if (g->given_up)
            continue;
        if (!g->sm_mhz || g->sm_mhz >= alike * highest) {
            chosen = chosen < i ? chosen : i;
            continue;
        }
        if (!g->is_slow && l->opts.on_message) {
            snprintf(line, sizeof line, "device %d runs at %u MHz, its twins at %u MHz: it holds no finals",
                     l->workers.devices[i], g->sm_mhz, highest);
            l->opts.on_message(l->opts.user, line);
        }
        g->is_slow = true;
    }
    return chosen;
}

static tt_status await_problem(tt__loop *l) {
    for (;;) {
        const size_t gpu = l->finals_gpu = choose_gpu(l);
        if (l->gpus[gpu].state == TT__ARRAYS_OPEN)
            return TT_OK;
        if (l->gpus[gpu].state == TT__ARRAYS_CLOSED)
            TT_TRY(tt__loop_open_problem(l, gpu));
        TT_TRY(tt__loop_turn(l));
    }
}

/* Gets the finalists' cubins. Trials may be of an earlier run, and its cubins may have been pruned. */
static tt_status finalist_cubins(tt__loop *l, const tt__candidate *const *c, size_t n, tt__cubin **cubins) {
    TT_TRY(await(l, l->checker)); /* if all trials were stored, it was not needed until now */
    if (l->reference)
        TT_TRY(await(l, l->reference));
    for (size_t i = 0; i < n; i++) {
        TT_TRY(tt__cubins_want(&l->cubins, c[i], &l->problem, &cubins[i]));
        TT_TRY(tt__cubins_name(&l->cubins, c[i], &l->problem, cubins[i]));
    }
    for (size_t i = 0; i < n; i++)
        TT_TRY(await(l, cubins[i]));
    return tt__cubins_save(&l->cubins, true);
}

/* Waits for the finals. A GPU worker that still measures after an error is stopped. */
static tt_status await_finals(tt__loop *l) {
    tt_status status = TT_OK;
    l->at_finals = true;
    tt__ahead_open_next(l->opts.ahead);
    while (l->at_finals && status == TT_OK)
        status = tt__loop_turn(l);
    if (l->at_finals)
        tt__loop_drop_gpu(l, l->finals_gpu);
    l->at_finals = false;
    return status == TT_OK ? tt__loop_adopt(l, l->finals_gpu, &l->finals_done) : status;
}

/* Holds the finals on one GPU. If it is lost, another one holds them anew. */
static tt_status finals(tt__backend *b, const tt__candidate *const *c, size_t n, tt__rounds rounds,
                        tt__trial *trials) {
    tt__loop *l = (tt__loop *)b;
    tt__cubin *cubins[TT__FINALISTS_MAX];
    tt_status status;
    if (n == 0 || n > TT__FINALISTS_MAX)
        return tt__fail(TT_E_INTERNAL, "finals of %zu", n);
    TT_TRY(finalist_cubins(l, c, n, cubins));
    do {
        TT_TRY(await_problem(l));
        const size_t gpu = l->finals_gpu;
        double begin_s = tt__now_s();
        double timeout_s = l->opts.trial_timeout_s * (double)(n + (size_t)rounds.loads) + 2 * rounds.worth_s;
        tt__workers_ask_finals(&l->workers, gpu, timeout_s, c, cubins, n, rounds);
        status = await_finals(l);
        tt__timeline_span(&l->timeline, gpu, "finals", begin_s, tt__now_s());
        if (status != TT_OK)
            TT_TRY(tt__loop_give_up(l, gpu, status));
    } while (status != TT_OK);
    memcpy(trials, l->finalists, n * sizeof *trials);
    return TT_OK;
}

/* ---- Counters ------------------------------------------------------------------------------------------ */

static tt_status await_count(tt__loop *l) {
    tt_status status = TT_OK;
    for (l->at_count = true; l->at_count && status == TT_OK;)
        status = tt__loop_turn(l);
    if (l->at_count)
        tt__loop_drop_gpu(l, l->finals_gpu);
    l->at_count = false;
    return status;
}

/* If their kernels do not compile, peaks are unknown. */
static tt_status peaks(tt__backend *b, tt__peaks *out) {
    tt__loop *l = (tt__loop *)b;
    tt__candidate c = {.config = "NUMBERS=0 PEAKS=1"};
    *out = (tt__peaks){0};
    TT_TRY(tt__cubins_want(&l->cubins, &c, &l->problem, &l->peaks));
    TT_TRY(await(l, l->checker));
    while (l->peaks->state <= TT__CUBIN_COMPILING)
        TT_TRY(tt__loop_turn(l));
    if (l->peaks->state != TT__CUBIN_READY)
        return TT_OK;
    TT_TRY(tt__cubins_save(&l->cubins, true));
    TT_TRY(await_problem(l));
    tt__workers_ask_peaks(&l->workers, l->finals_gpu, l->opts.trial_timeout_s, l->peaks);
    TT_TRY(await_count(l));
    TT_TRY(tt__loop_adopt(l, l->finals_gpu, &l->peaked.done));
    *out = l->peaked.peaks;
    return TT_OK;
}

static tt_status count(tt__backend *b, const tt__candidate *c, tt__counted *out) {
    enum { LAUNCHES = 40 }; /* it takes about a dozen to count everything */
    tt__loop *l = (tt__loop *)b;
    tt__cubin *cubin;
    TT_TRY(finalist_cubins(l, &c, 1, &cubin));
    TT_TRY(await_problem(l));
    tt__workers_ask_count(&l->workers, l->finals_gpu, l->opts.trial_timeout_s * LAUNCHES, c, cubin);
    TT_TRY(await_count(l));
    TT_TRY(tt__loop_adopt(l, l->finals_gpu, &l->counted.done));
    *out = l->counted.counted;
    /* Without it, rules that need it do not apply. */
    tt__sass_read(&out->sass, cubin->image.text, cubin->image.len,
                  c->t->symbols.name[tt__main_pass(&c->launch)], l->workers.gpu.cc);
    return TT_OK;
}

static void close_gpu(tt__backend *b) {
    tt__loop *l = (tt__loop *)b;
    tt__workers_close(&l->workers);
    tt__cubins_save(&l->cubins, true); /* if saving fails, only compile time is lost */
    tt__cubins_close(&l->cubins);
    free(l->compiling);
    free(l);
}

static const tt__backend_ops gpu_ops = {.hello = hello,
                                        .problem = problem,
                                        .prepare = prepare,
                                        .room = room,
                                        .submit = submit,
                                        .wait = wait,
                                        .finals = finals,
                                        .count = count,
                                        .peaks = peaks,
                                        .close = close_gpu};

tt_status tt__backend_gpu(tt__backend **out, const tt__backend_gpu_opts *opts) {
    *out = NULL;
    tt__loop *l = calloc(1, sizeof *l);
    if (!l)
        return tt__fail_memory(sizeof *l);
    l->base.ops = &gpu_ops;
    l->opts = *opts;
    l->cubins.store = opts->store;
    tt_status status;
    static const int first = 0;
    TT_GOTO(tt__workers_open(&l->workers, opts->n_devices ? opts->devices : &first,
                             opts->n_devices ? opts->n_devices : 1, opts->jobs, opts->should_stop,
                             opts->user));
    l->compiling = calloc(l->workers.n, sizeof *l->compiling);
    if (!l->compiling)
        TT_GOTO(tt__fail_memory(l->workers.n * sizeof *l->compiling));
    tt__timeline_open(&l->timeline, opts->trace, &l->workers);
    *out = &l->base;
    return TT_OK;
out:
    close_gpu(&l->base);
    return status;
}
