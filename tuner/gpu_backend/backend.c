/*
 * The functions of the GPU backend. While one of them waits, the event loop continues.
 */
#include "tuner/gpu_backend/backend.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
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
        while (l->gpus[i].state == TT__ARRAYS_OPENING && !l->gpus[i].place)
            TT_TRY(tt__loop_turn(l));
    return TT_OK;
}

/* Drops the jobs of an abandoned search. */
static void forget_jobs(tt__loop *l) {
    for (size_t i = 0; i < l->workers.n_gpus; i++) {
        const tt__place *p = l->gpus[i].place;
        if (l->workers.items[i].busy && l->gpus[i].state == TT__ARRAYS_OPEN &&
            !(p && p->state == TT__PLACE_ON_GPU))
            tt__loop_drop_gpu(l, i);
    }
    memset(l->jobs, 0, sizeof l->jobs);
}

static tt_status problem(tt__backend *b, const tt__problem *p, const tt__template *t) {
    tt__loop *l = (tt__loop *)b;
    tt__candidate c;
    forget_jobs(l);
    TT_TRY(tt__ahead_soon(l->opts.ahead, NULL, 0, p));
    TT_TRY(await_opening(l));
    l->now.problem = *p;
    l->now.number++;
    for (size_t i = 0; i < l->workers.n_gpus; i++) {
        if (l->gpus[i].state == TT__ARRAYS_OPEN && !l->gpus[i].place)
            l->gpus[i].state = TT__ARRAYS_CLOSED;
        l->gpus[i].failures = 0;
    }
    l->cutoff_us = 0;
    l->now.reference = NULL;
    TT_TRY(tt__workload_of(&l->now.work, t, &l->workers.gpu, p));
    if (l->now.work.launch.n_passes || l->now.work.filling.n_passes) {
        TT_TRY(tt__space_aside(&c, t->operation, l->now.work.launch.n_passes ? TT__REFERENCE : TT__DATA,
                               &l->workers.gpu, p, t->operation->t->default_config));
        TT_TRY(tt__cubins_want(&l->cubins, &c, p, &l->now.reference));
    }
    tt__verify_candidate(&c, &l->now.work);
    return tt__cubins_want(&l->cubins, &c, p, &l->now.checker);
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
    TT_TRY(tt__cubins_want(&l->cubins, c, &l->now.problem, &cubin));
    *j = (tt__job){.state = TT__JOB_TO_COMPILE, .id = id, .order = ++l->submitted, .c = c, .cubin = cubin};
    TT_TRY(tt__cubins_name(&l->cubins, c, &l->now.problem, cubin));
    tt_status status = tt__workload_checks(&j->checks, c, &l->workers.gpu, &l->now.problem);
    if (status != TT_E_UNSUPPORTED && status != TT_E_TEMPLATE)
        return status;
    j->state = TT__JOB_DONE; /* what verifies this configuration cannot be launched */
    j->trial.status = TT__TRIAL_LAUNCH_ERROR;
    tt__copy(j->trial.reason, sizeof j->trial.reason, tt_last_error());
    return TT_OK;
}

/* Have finals ended? */
static bool any_done(const tt__loop *l) {
    for (size_t i = 0; i < TT__PLACES_MAX; i++)
        if (l->places[i] && l->places[i]->state == TT__PLACE_DONE)
            return true;
    return false;
}

static tt_status wait(tt__backend *b, size_t *id, tt__trial *trial) {
    tt__loop *l = (tt__loop *)b;
    int at = TT__NO_JOB;
    for (;;) {
        *id = TT__NO_TRIAL;
        if (any_done(l))
            return TT_OK;
        if ((at = tt__loop_oldest(l, TT__JOB_DONE)) != TT__NO_JOB)
            break;
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

static tt_status await_problem(tt__loop *l) {
    for (;;) {
        const size_t gpu = l->count_gpu = tt__loop_choose_gpu(l);
        if (l->gpus[gpu].state == TT__ARRAYS_OPEN)
            return TT_OK;
        if (l->gpus[gpu].state == TT__ARRAYS_CLOSED)
            TT_TRY(tt__loop_open_problem(l, gpu));
        TT_TRY(tt__loop_turn(l));
    }
}

/* Gets the finalists' cubins. Trials may be of an earlier run, and its cubins may have been pruned. */
static tt_status finalist_cubins(tt__loop *l, const tt__task *task, const tt__candidate *const *c, size_t n,
                                 tt__cubin **cubins) {
    TT_TRY(await(l, task->checker)); /* if all trials were stored, it was not needed until now */
    if (task->reference)
        TT_TRY(await(l, task->reference));
    for (size_t i = 0; i < n; i++) {
        TT_TRY(tt__cubins_want(&l->cubins, c[i], &task->problem, &cubins[i]));
        TT_TRY(tt__cubins_name(&l->cubins, c[i], &task->problem, cubins[i]));
    }
    for (size_t i = 0; i < n; i++)
        TT_TRY(await(l, cubins[i]));
    return tt__cubins_save(&l->cubins, true);
}

static size_t finals_most(const tt__backend *b) {
    const tt__loop *l = (const tt__loop *)b;
    size_t n = 0;
    for (size_t i = 0; i < l->workers.n_gpus; i++)
        n += !l->gpus[i].given_up;
    return n > 1 ? n : 0;
}

static tt_status ask(tt__loop *l, size_t at, const tt__candidate *const *c, size_t n, tt__rounds rounds,
                     double train_s) {
    if (n == 0 || n > TT__FINALISTS_MAX)
        return tt__fail(TT_E_INTERNAL, "finals of %zu", n);
    if (!l->places[at])
        l->places[at] = calloc(1, sizeof *l->places[at]);
    tt__place *p = l->places[at];
    if (!p)
        return tt__fail_memory(sizeof *p);
    if (p->state == TT__PLACE_FREE)
        p->task = l->now;
    p->state = TT__PLACE_IDLE;
    TT_TRY(finalist_cubins(l, &p->task, c, n, p->cubins));
    memcpy(p->c, c, n * sizeof *c);
    p->n = n;
    p->rounds = rounds;
    p->train_s = train_s;
    p->state = TT__PLACE_ASKED;
    return tt__loop_feed_places(l);
}

static tt_status finals_ask(tt__backend *b, size_t at, const tt__candidate *const *c, size_t n,
                            tt__rounds rounds) {
    return ask((tt__loop *)b, at, c, n, rounds, 0);
}

static tt_status finals_take(tt__backend *b, size_t at, bool *done, tt__trial *trials) {
    tt__place *p = ((tt__loop *)b)->places[at];
    *done = p->state == TT__PLACE_DONE;
    if (!*done)
        return TT_OK;
    p->state = TT__PLACE_IDLE;
    memcpy(trials, p->trials, p->n * sizeof *trials);
    return tt__workers_adopt(&p->done);
}

/* A GPU worker that still measures is stopped. */
static void finals_free(tt__backend *b, size_t at) {
    tt__loop *l = (tt__loop *)b;
    tt__place *p = l->places[at];
    if (!p)
        return;
    if (p->state == TT__PLACE_ON_GPU)
        tt__loop_drop_gpu(l, p->held - 1);
    tt__loop_release(l, p);
    p->state = TT__PLACE_FREE;
}

/* While the GPU measures, the next problem is opened. */
static tt_status hold(tt__backend *b, const tt__candidate *const *c, size_t n, tt__rounds rounds,
                      double train_s, tt__trial *trials) {
    enum { AT = TT__PLACES_MAX };
    tt__loop *l = (tt__loop *)b;
    bool done = false;
    tt_status status = ask(l, AT, c, n, rounds, train_s);
    while (status == TT_OK && !done) {
        if (l->places[AT]->state == TT__PLACE_ON_GPU)
            tt__ahead_open_next(l->opts.ahead);
        status = tt__loop_turn(l);
        if (status == TT_OK)
            status = finals_take(b, AT, &done, trials);
    }
    finals_free(b, AT);
    return status;
}

static tt_status finals(tt__backend *b, const tt__candidate *const *c, size_t n, tt__rounds rounds,
                        tt__trial *trials) {
    return hold(b, c, n, rounds, 0, trials);
}

static tt_status energies(tt__backend *b, const tt__candidate *const *c, size_t n, double train_s,
                          tt__trial *trials) {
    const tt__rounds rounds = {.least = 7, .most = 15, .worth_s = 0.1, .loads = 1};
    return hold(b, c, n, rounds, train_s, trials);
}

/* ---- Counters ------------------------------------------------------------------------------------------ */

static tt_status await_count(tt__loop *l) {
    tt_status status = TT_OK;
    for (l->at_count = true; l->at_count && status == TT_OK;)
        status = tt__loop_turn(l);
    if (l->at_count)
        tt__loop_drop_gpu(l, l->count_gpu);
    l->at_count = false;
    return status;
}

/* If their kernels do not compile, peaks are unknown. */
static tt_status peaks(tt__backend *b, tt__peaks *out) {
    tt__loop *l = (tt__loop *)b;
    tt__candidate c = {.config = "NUMBERS=0 PEAKS=1"};
    *out = (tt__peaks){0};
    TT_TRY(tt__cubins_want(&l->cubins, &c, &l->now.problem, &l->peaks));
    TT_TRY(await(l, l->now.checker));
    while (l->peaks->state <= TT__CUBIN_COMPILING)
        TT_TRY(tt__loop_turn(l));
    if (l->peaks->state != TT__CUBIN_READY)
        return TT_OK;
    TT_TRY(tt__cubins_save(&l->cubins, true));
    TT_TRY(await_problem(l));
    tt__workers_ask_peaks(&l->workers, l->count_gpu, l->opts.trial_timeout_s, l->peaks);
    TT_TRY(await_count(l));
    TT_TRY(tt__loop_adopt(l, l->count_gpu, &l->peaked.done));
    *out = l->peaked.peaks;
    return TT_OK;
}

static tt_status count(tt__backend *b, const tt__candidate *c, tt__counted *out) {
    enum { LAUNCHES = 40 }; /* it takes about a dozen to count everything */
    tt__loop *l = (tt__loop *)b;
    tt__cubin *cubin;
    TT_TRY(finalist_cubins(l, &l->now, &c, 1, &cubin));
    TT_TRY(await_problem(l));
    tt__workers_ask_count(&l->workers, l->count_gpu, l->opts.trial_timeout_s * LAUNCHES, c, cubin);
    TT_TRY(await_count(l));
    TT_TRY(tt__loop_adopt(l, l->count_gpu, &l->counted.done));
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
    for (size_t i = 0; i <= TT__PLACES_MAX; i++)
        free(l->places[i]);
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
                                        .finals_most = finals_most,
                                        .finals_ask = finals_ask,
                                        .finals_take = finals_take,
                                        .finals_free = finals_free,
                                        .energies = energies,
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
