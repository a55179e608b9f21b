/*
 * The functions of the GPU backend. While one of them waits, the event loop continues.
 */
#include "tuner/backend/gpu/backend_gpu.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "kernel/space/operation.h"
#include "kernel/space/workload.h"
#include "tuner/backend/gpu/event_loop.h"
#include "tuner/measure/measure.h"
#include "tuner/measure/verify.h"

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

static tt_status hello(tt__backend *b, tt__gpu *gpu, tt__env *env) {
    tt__loop *l = (tt__loop *)b;
    const double begin_s = tt__now_s();
    for (size_t i = 0; i < l->workers.n_gpus; i++)
        l->gpus[i] = (tt__loop_gpu){.state = TT__ARRAYS_STARTING, .started_s = begin_s};
    TT_TRY(tt__workers_start_all(&l->workers));
    l->cubins.nvrtc = l->workers.env.nvrtc;
    while (!l->greeted) /* by any of the GPUs; the others may be broken */
        TT_TRY(tt__loop_turn(l));
    l->presumed = l->workers.compiling.status == TT_OK && l->opts.while_cuda_starts &&
                  l->opts.while_cuda_starts(l->opts.starting, l->presumed_name, &l->workers.gpu);
    l->cubins.cc = l->workers.gpu.cc;
    while (!l->described)
        TT_TRY(tt__loop_turn(l));
    *gpu = l->workers.gpu;
    *env = l->workers.env;
    b->counts_energy = l->workers.counts_energy;
    if (l->mistaken || l->cubins.cc != gpu->cc)
        forget_cubins(l);
    l->cubins.cc = gpu->cc;
    l->presumed = l->mistaken = false;
    tt__expected_forget(l->opts.expected);
    return TT_OK;
}

/* ---- Trials -------------------------------------------------------------------------------------------- */

static size_t lanes(const tt__backend *b) {
    const tt__loop *l = (const tt__loop *)b;
    size_t n = 0;
    for (size_t i = 0; i < l->workers.n_gpus; i++)
        n += !l->gpus[i].given_up;
    return tt__lanes_for(n);
}

static tt_status enter(tt__backend *b, size_t lane) {
    tt__loop *l = (tt__loop *)b;
    l->at = lane;
    if (!l->lanes[lane])
        l->lanes[lane] = calloc(1, sizeof *l->lanes[lane]);
    return l->lanes[lane] ? TT_OK : tt__fail_memory(sizeof *l->lanes[lane]);
}

/* A GPU worker that still measures finals of the current lane is stopped. */
static void end_finals(tt__loop *l) {
    tt__lane_finals *f = &tt__loop_now(l)->finals;
    if (f->state == TT__FINALS_ON_GPU)
        tt__loop_drop_gpu(l, f->held - 1);
    tt__loop_release(l, l->at);
    f->state = TT__FINALS_IDLE;
}

/* Drops the jobs of an abandoned search, and the arrays of its problem. */
static void leave(tt__backend *b) {
    tt__loop *l = (tt__loop *)b;
    end_finals(l);
    for (int i = 0; i < TT__JOBS_MAX; i++) {
        if (l->jobs[i].lane != l->at)
            continue;
        if (l->jobs[i].state == TT__JOB_TRYING)
            tt__loop_drop_gpu(l, l->jobs[i].gpu);
        l->jobs[i] = (tt__job){0};
    }
    for (size_t i = 0; i < l->workers.n_gpus; i++)
        if (l->gpus[i].lane == l->at && l->gpus[i].state == TT__ARRAYS_OPEN)
            l->gpus[i].state = TT__ARRAYS_CLOSED;
    tt__loop_now(l)->is_fresh = false;
}

static tt_status problem(tt__backend *b, const tt__problem *p, const tt__template *t) {
    tt__loop *l = (tt__loop *)b;
    tt__task *task = &tt__loop_now(l)->task;
    tt__candidate c;
    leave(b);
    TT_TRY(tt__expected_soon(l->opts.expected, NULL, 0, p));
    *task = (tt__task){.number = ++l->n_tasks, .problem = *p};
    for (size_t i = 0; i < l->workers.n_gpus; i++)
        l->gpus[i].failures = 0;
    tt__loop_now(l)->cutoff_us = 0;
    tt__loop_now(l)->await_s = INFINITY;
    TT_TRY(tt__workload_of(&task->work, t, &l->workers.gpu, p));
    const tt__role role = tt__workload_role(&task->work);
    if (role != TT__ROLE_COUNT) {
        TT_TRY(tt__space_aside(&c, t->operation, role, &l->workers.gpu, p, t->operation->t->default_config));
        TT_TRY(tt__cubins_want(&l->cubins, &c.configuration, p, &task->reference));
    }
    for (int i = 0; i < tt__verify_parts(&task->problem, &task->work); i++) {
        tt__verify_configuration(&c.configuration, i);
        TT_TRY(tt__cubins_want(&l->cubins, &c.configuration, p, &task->checkers[i]));
    }
    return TT_OK;
}

/* Each problem under way has a share. One without trials in flight can always have one, beyond `most`. */
static size_t room(const tt__backend *b) {
    const tt__loop *l = (const tt__loop *)b;
    size_t of_lane[TT__LANES_MAX] = {0}, used = 0, n = 0;
    for (int i = 0; i < TT__JOBS_MAX; i++)
        of_lane[l->jobs[i].lane] += l->jobs[i].state != TT__JOB_FREE;
    for (size_t i = 0; i < TT__LANES_MAX; i++) {
        used += of_lane[i];
        n += of_lane[i] > 0 || i == l->at;
    }
    const size_t most = TT__JOBS_MAX - TT__LANES_MAX, left = used < most ? most - used : 0;
    const size_t share = 2 * l->workers.n / n, mine = of_lane[l->at];
    const size_t wants = mine < share ? share - mine : 0, has = wants < left ? wants : left;
    return has || mine ? has : 1;
}

static size_t compilers(const tt__backend *b) {
    return tt__workers_compilers(&((const tt__loop *)b)->workers);
}

static void await_until(tt__backend *b, double end_s) {
    tt__loop_now((tt__loop *)b)->await_s = end_s;
}

/* For the open problem, or for the copy that it is compared with. */
static tt_status launch_of(tt__launch *out, const tt__loop *l, const tt__configuration *c) {
    const tt__problem *p = &tt__loop_now(l)->task.problem;
    tt__problem copy;
    if (strcmp(c->t->op, "copy") == 0 && strcmp(p->op, "copy") != 0 && tt__problem_copy(&copy, p))
        p = &copy;
    return tt__space_launch(out, c, &l->workers.gpu, p);
}

static tt_status submit(tt__backend *b, size_t id, const tt__configuration *c, double cutoff_us) {
    tt__loop *l = (tt__loop *)b;
    tt__job *j = NULL;
    for (int i = 0; i < TT__JOBS_MAX && !j; i++)
        if (l->jobs[i].state == TT__JOB_FREE)
            j = &l->jobs[i];
    if (!j)
        return tt__fail(TT_E_INTERNAL, "more than %d trials at once", TT__JOBS_MAX);
    const tt__problem *p = &tt__loop_now(l)->task.problem;
    tt__loop_now(l)->cutoff_us = cutoff_us;
    tt__loop_now(l)->is_fresh = false;
    tt__loop_release(l, l->at); /* its finals are over */
    tt__cubin *cubin;
    TT_TRY(tt__cubins_want(&l->cubins, c, p, &cubin));
    *j = (tt__job){.state = TT__JOB_TO_COMPILE,
                   .id = id,
                   .lane = l->at,
                   .order = ++l->submitted,
                   .c = c,
                   .cubin = cubin};
    TT_TRY(tt__cubins_name(&l->cubins, c, p, cubin));
    TT_TRY(launch_of(&j->launch, l, c));
    tt_status status = tt__workload_checks(&j->checks, c, &l->workers.gpu, p);
    if (status != TT_E_UNSUPPORTED && status != TT_E_TEMPLATE)
        return status;
    /* What verifies this configuration cannot be launched. */
    tt__loop_finish(j, TT__TRIAL_LAUNCH_ERROR, tt_last_error());
    return TT_OK;
}

/* Have finals ended? */
static bool any_done(const tt__loop *l) {
    for (size_t i = 0; i < TT__LANES_MAX; i++)
        if (l->lanes[i] && l->lanes[i]->finals.state == TT__FINALS_DONE)
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
        tt__loop_promote(l); /* what is over at once must not wait for an event */
        if ((at = tt__loop_oldest(l, TT__JOB_DONE)) != TT__NO_JOB)
            break;
        TT_TRY(tt__loop_turn(l));
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
    tt__loop *l = (tt__loop *)b;
    tt__loop_now(l)->is_fresh = true;
    return tt__loop_prepare(l);
}

/* ---- Finals -------------------------------------------------------------------------------------------- */

static tt_status await(tt__loop *l, const tt__cubin *cubin) {
    while (cubin->state <= TT__CUBIN_COMPILING)
        TT_TRY(tt__loop_turn(l));
    return cubin->state == TT__CUBIN_READY ? TT_OK : tt__fail(TT_E_COMPILE, "%s", cubin->reason);
}

static tt_status await_checkers(tt__loop *l, const tt__task *task) {
    for (int i = 0; i < tt__verify_parts(&task->problem, &task->work); i++)
        TT_TRY(await(l, task->checkers[i]));
    return TT_OK;
}

/* Makes a GPU ready for counts: the one of the lane's finals, or else a free one. */
static tt_status await_problem(tt__loop *l) {
    for (;;) {
        const size_t held = tt__loop_now(l)->finals.held;
        const size_t gpu = l->count_gpu = held ? held - 1 : tt__loop_choose_gpu(l, l->at);
        if (gpu == TT__GPUS_MAX) { /* others hold finals on all of them */
            TT_TRY(tt__loop_turn(l));
            continue;
        }
        if (l->gpus[gpu].state == TT__ARRAYS_OPEN)
            return TT_OK;
        l->gpus[gpu].lane = l->at;
        if (l->gpus[gpu].state == TT__ARRAYS_CLOSED)
            TT_TRY(tt__loop_open_problem(l, gpu));
        TT_TRY(tt__loop_turn(l));
    }
}

/* Gets the finalists' cubins. Trials may be of an earlier run, and its cubins may have been pruned. */
static tt_status finalist_cubins(tt__loop *l, const tt__configuration *const *c, size_t n,
                                 tt__cubin **cubins) {
    const tt__task *task = &tt__loop_now(l)->task;
    TT_TRY(await_checkers(l, task)); /* if all trials were stored, they were not needed until now */
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

static tt_status finals_ask(tt__backend *b, const tt__configuration *const *c, size_t n, tt__rounds rounds,
                            double lap_us, double train_s) {
    tt__loop *l = (tt__loop *)b;
    tt__lane_finals *f = &tt__loop_now(l)->finals;
    if (n == 0 || n > TT__FINALISTS_MAX)
        return tt__fail(TT_E_INTERNAL, "finals of %zu", n);
    TT_TRY(finalist_cubins(l, c, n, f->cubins));
    for (size_t i = 0; i < n; i++)
        TT_TRY(launch_of(&f->launches[i], l, c[i]));
    memcpy(f->c, c, n * sizeof *c);
    f->n = n;
    f->rounds = rounds;
    f->lap_us = tt__sample_us(lap_us, tt__loop_now(l)->task.problem.in_graph); /* exact if that is long */
    f->train_s = train_s;
    f->state = TT__FINALS_ASKED;
    return tt__loop_feed_finals(l);
}

static tt_status finals_take(tt__backend *b, bool *done, tt__trial *trials) {
    tt__lane_finals *f = &tt__loop_now((tt__loop *)b)->finals;
    *done = f->state == TT__FINALS_DONE;
    if (!*done)
        return TT_OK;
    f->state = TT__FINALS_IDLE;
    memcpy(trials, f->trials, f->n * sizeof *trials);
    return tt__workers_adopt(&f->done);
}

/* ---- Counters ------------------------------------------------------------------------------------------ */

/* Waits for the reply, which is then in `payload`. */
static tt_status await_count(tt__loop *l) {
    tt_status status = TT_OK;
    for (l->at_count = true; l->at_count && status == TT_OK;)
        status = tt__loop_turn(l);
    if (l->at_count)
        tt__loop_drop_gpu(l, l->count_gpu);
    l->at_count = false;
    const tt__msg_done *done = (const tt__msg_done *)l->workers.payload.text; /* both replies begin with it */
    return status == TT_OK ? tt__loop_adopt(l, l->count_gpu, done) : status;
}

/* If their kernels do not compile, peaks are unknown. */
static tt_status peaks(tt__backend *b, tt__peaks *out) {
    tt__loop *l = (tt__loop *)b;
    tt__configuration c = {.config = "PART=-1 PEAKS=1"};
    *out = (tt__peaks){0};
    TT_TRY(tt__cubins_want(&l->cubins, &c, &tt__loop_now(l)->task.problem, &l->peaks));
    TT_TRY(await_checkers(l, &tt__loop_now(l)->task));
    while (l->peaks->state <= TT__CUBIN_COMPILING)
        TT_TRY(tt__loop_turn(l));
    if (l->peaks->state != TT__CUBIN_READY)
        return TT_OK;
    TT_TRY(tt__cubins_save(&l->cubins, true));
    TT_TRY(await_problem(l));
    tt__workers_ask_peaks(&l->workers, l->count_gpu, l->opts.trial_timeout_s, l->peaks);
    TT_TRY(await_count(l));
    *out = ((const tt__msg_peaked *)l->workers.payload.text)->peaks;
    return TT_OK;
}

static tt_status count(tt__backend *b, const tt__configuration *c, tt__counted *out) {
    enum { LAUNCHES = 40 }; /* it takes about a dozen to count everything */
    tt__loop *l = (tt__loop *)b;
    tt__cubin *cubin;
    tt__launch launch;
    TT_TRY(launch_of(&launch, l, c));
    TT_TRY(finalist_cubins(l, &c, 1, &cubin));
    TT_TRY(await_problem(l));
    tt__workers_ask_count(&l->workers, l->count_gpu, l->opts.trial_timeout_s * LAUNCHES, c, &launch, cubin);
    TT_TRY(await_count(l));
    *out = ((const tt__msg_counted *)l->workers.payload.text)->counted;
    /* Without it, rules that need it do not apply. */
    tt__sass_read(&out->sass, cubin->image.text, cubin->image.len, c->t->symbols.name[tt__main_pass(&launch)],
                  l->workers.gpu.cc);
    return TT_OK;
}

static tt_status bits(tt__backend *b, const tt__configuration *c, const tt__bits_ask *ask,
                      tt__bits_found *out) {
    enum { LAUNCHES = 40 }; /* it takes up to 32 */
    tt__loop *l = (tt__loop *)b;
    tt__cubin *cubin;
    tt__checks checks;
    tt__launch launch;
    TT_TRY(launch_of(&launch, l, c));
    TT_TRY(finalist_cubins(l, &c, 1, &cubin));
    TT_TRY(tt__workload_checks(&checks, c, &l->workers.gpu, &tt__loop_now(l)->task.problem));
    TT_TRY(await_problem(l));
    tt__workers_ask_bits(&l->workers, l->count_gpu, l->opts.trial_timeout_s * LAUNCHES, ask, c, &launch,
                         cubin, &checks);
    TT_TRY(await_count(l));
    *out = ((const tt__msg_bits_found *)l->workers.payload.text)->found;
    return TT_OK;
}

static void close_gpu(tt__backend *b) {
    tt__loop *l = (tt__loop *)b;
    tt__workers_close(&l->workers);
    tt__cubins_save(&l->cubins, true); /* if saving fails, only compile time is lost */
    tt__cubins_close(&l->cubins);
    for (size_t i = 0; i < TT__LANES_MAX; i++)
        free(l->lanes[i]);
    free(l->compiling);
    free(l);
}

static const tt__backend_ops gpu_ops = {.hello = hello,
                                        .lanes = lanes,
                                        .enter = enter,
                                        .leave = leave,
                                        .problem = problem,
                                        .prepare = prepare,
                                        .room = room,
                                        .compilers = compilers,
                                        .await_until = await_until,
                                        .submit = submit,
                                        .wait = wait,
                                        .finals_ask = finals_ask,
                                        .finals_take = finals_take,
                                        .count = count,
                                        .bits = bits,
                                        .peaks = peaks,
                                        .close = close_gpu};

tt_status tt__backend_gpu(tt__backend **out, const tt__backend_gpu_opts *opts) {
    *out = NULL;
    tt__loop *l = calloc(1, sizeof *l);
    if (!l)
        return tt__fail_memory(sizeof *l);
    l->base.ops = &gpu_ops;
    l->base.varies = true;
    l->opts = *opts;
    l->cubins.store = opts->store;
    tt_status status;
    static const int first = 0;
    TT_GOTO(enter(&l->base, 0));
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
