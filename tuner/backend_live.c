/*
 * The live backend: one event loop over a GPU worker and the compile workers. A job waits for its cubin, is
 * queued for the GPU, tried, and handed out; compiling and measuring overlap by themselves.
 */
#include "tuner/backend.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "template/task.h"
#include "tuner/farm/crew.h"
#include "tuner/farm/cubins.h"
#include "tuner/farm/timeline.h"
#include "tuner/verify.h"

enum { JOBS_MAX = 256, NO_JOB = -1 };

typedef enum job_state { FREE, TO_COMPILE, TO_TRY, TRYING, DONE } job_state;

typedef struct job {
    job_state state;
    size_t id;
    uint64_t order; /* of submission */
    const tt__candidate *c;
    tt__cubin *cubin;
    const char *waited_for; /* what the GPU lacked when this came */
    tt__trial trial;
} job;

typedef enum problem_state { CLOSED, OPENING, OPEN } problem_state;

typedef struct live {
    tt__backend base;
    tt__live_opts opts;
    tt__crew crew;
    tt__cubins cubins;
    tt__cubin **compiling; /* by each worker */
    tt__timeline timeline;
    tt__problem problem;
    tt__workload work;
    problem_state state;  /* of its arrays in the GPU worker */
    int failures;         /* to open it, one behind the other */
    tt__cubin *checker;   /* the verifier's kernels */
    tt__cubin *reference; /* the task's, or NULL */
    const tt__task *expected;
    double started_s;         /* the workers */
    bool presumed, described; /* the GPU */
    bool mistaken;            /* what was presumed cannot be compiled for */
    double cutoff_us;
    job jobs[JOBS_MAX];
    uint64_t submitted;
    bool at_finals;
    tt__msg_done finals_done; /* when they are over, and how the finalists did */
    tt__trial finalists[TT__FINALISTS_MAX];
    int n_falls; /* of the GPU's clocks */
} live;

static tt_status turn(live *l);
static void drop_gpu_worker(live *l);

/* ---- The GPU ------------------------------------------------------------------------------------------- */

static tt_status name(tt__backend *b, char out[TT__GPU_NAME_MAX]) {
    live *l = (live *)b;
    l->started_s = tt__now_s();
    TT_TRY(tt__crew_start_all(&l->crew, out));
    l->cubins.nvrtc = l->crew.env.nvrtc;
    return TT_OK;
}

static void presume(tt__backend *b, const tt__gpu *gpu) {
    live *l = (live *)b;
    if (l->crew.compiling.status != TT_OK)
        return;
    l->crew.gpu = *gpu;
    l->cubins.cc = gpu->cc;
    l->presumed = true;
}

/* Cubins of a GPU that is not there, and whoever compiles one. */
static void forget_cubins(live *l) {
    for (size_t w = TT__CREW_COMPILER; w < l->crew.n; w++) {
        if (l->compiling[w])
            tt__worker_stop(&l->crew.workers[w]);
        l->compiling[w] = NULL;
    }
    tt__cubins_close(&l->cubins);
    l->cubins = (tt__cubins){.store = l->opts.store, .nvrtc = l->crew.env.nvrtc};
}

static tt_status await_description(live *l) {
    if (!l->presumed) { /* nothing is compiled yet */
        TT_TRY(tt__crew_wait_for(&l->crew, TT__CREW_GPU, TT__MSG_DESCRIBED));
        return tt__crew_described(&l->crew);
    }
    while (!l->described) {
        TT_TRY(tt__crew_stop_asked(&l->crew));
        TT_TRY(turn(l));
    }
    return TT_OK;
}

static tt_status hello(tt__backend *b, tt__gpu *gpu, tt__env *env) {
    live *l = (live *)b;
    char unused[TT__GPU_NAME_MAX];
    if (l->started_s == 0)
        TT_TRY(name(b, unused));
    TT_TRY(await_description(l));
    tt__timeline_span(&l->timeline, TT__CREW_GPU, "start", l->started_s, tt__now_s());
    *gpu = l->crew.gpu;
    *env = l->crew.env;
    if (l->mistaken || (l->presumed && l->cubins.cc != gpu->cc))
        forget_cubins(l);
    l->cubins.cc = gpu->cc;
    tt__cubins_expect_nothing(&l->cubins);
    l->expected = NULL;
    return TT_OK;
}

/* ---- Jobs and their cubins ----------------------------------------------------------------------------- */

/* The arrays of a problem of which nothing was tried. What is heard of them later would be taken for what is
 * heard of the next. */
static tt_status await_opening(live *l) {
    while (l->state == OPENING) {
        TT_TRY(tt__crew_stop_asked(&l->crew));
        TT_TRY(turn(l));
    }
    return TT_OK;
}

/* Of a search that was given up. */
static void forget_jobs(live *l) {
    if (l->crew.workers[TT__CREW_GPU].busy && l->state == OPEN)
        drop_gpu_worker(l);
    memset(l->jobs, 0, sizeof l->jobs);
}

static tt_status problem(tt__backend *b, const tt__problem *p, const tt__template *t) {
    live *l = (live *)b;
    tt__candidate c = {0};
    forget_jobs(l);
    TT_TRY(await_opening(l));
    l->problem = *p;
    l->state = CLOSED;
    l->failures = 0;
    l->cutoff_us = 0;
    l->reference = NULL;
    TT_TRY(tt__workload_of(&l->work, t, &l->crew.gpu, p));
    if (l->work.has_reference) {
        TT_TRY(tt__space_reference(&c, t->task, &l->crew.gpu, p));
        TT_TRY(tt__cubins_want(&l->cubins, &c, p, &l->reference));
    }
    c.t = NULL;
    tt__copy(c.config, sizeof c.config, tt__verify_config(&l->work));
    return tt__cubins_want(&l->cubins, &c, p, &l->checker);
}

/* What every problem of a task needs: the checker, and the reference. If they are not to be had, that is told
 * when a problem's turn comes. */
static tt_status expect_task(live *l, const tt__template *t, const tt__problem *p) {
    tt__workload work;
    tt__candidate c = {0};
    tt_status status = tt__workload_of(&work, t, &l->crew.gpu, p);
    if (status == TT_OK) {
        tt__copy(c.config, sizeof c.config, tt__verify_config(&work));
        TT_TRY(tt__cubins_expect(&l->cubins, &c, p));
    }
    if (status == TT_OK && t->task->has_reference &&
        tt__space_reference(&c, t->task, &l->crew.gpu, p) == TT_OK)
        TT_TRY(tt__cubins_expect(&l->cubins, &c, p));
    return TT_OK;
}

/* The first of a task comes with what its checking takes: another problem, as the copy, may be at work until
 * then. */
static tt_status expect(tt__backend *b, const tt__candidate *c, const tt__problem *p) {
    live *l = (live *)b;
    if (c->t->task != l->expected)
        TT_TRY(expect_task(l, c->t, p));
    l->expected = c->t->task;
    return tt__cubins_expect(&l->cubins, c, p);
}

static size_t room(const tt__backend *b) {
    const live *l = (const live *)b;
    size_t wanted = 2 * l->crew.n, used = 0;
    for (int i = 0; i < JOBS_MAX; i++)
        used += l->jobs[i].state != FREE;
    return used < wanted ? wanted - used : 0;
}

static tt_status submit(tt__backend *b, size_t id, const tt__candidate *c, double cutoff_us) {
    live *l = (live *)b;
    job *j = NULL;
    for (int i = 0; i < JOBS_MAX && !j; i++)
        if (l->jobs[i].state == FREE)
            j = &l->jobs[i];
    if (!j)
        return tt__fail(TT_E_INTERNAL, "more than %d trials at once", JOBS_MAX);
    l->cutoff_us = cutoff_us;
    tt__cubin *cubin;
    TT_TRY(tt__cubins_want(&l->cubins, c, &l->problem, &cubin));
    *j = (job){.state = TO_COMPILE, .id = id, .order = ++l->submitted, .c = c, .cubin = cubin};
    return tt__cubins_name(&l->cubins, c, &l->problem, cubin);
}

static void finish(job *j, tt__trial_status status, const char *reason) {
    j->state = DONE;
    j->trial.status = status;
    tt__copy(j->trial.reason, sizeof j->trial.reason, reason);
}

/* Moves on the jobs whose cubins have come, or will not come. */
static void promote(live *l) {
    for (int i = 0; i < JOBS_MAX; i++) {
        job *j = &l->jobs[i];
        if (j->state != TO_COMPILE || j->cubin->state <= TT__CUBIN_COMPILING)
            continue;
        j->trial.compile_ms = j->cubin->compile_ms; /* the first trial paid for it */
        j->cubin->compile_ms = 0;
        if (j->cubin->state == TT__CUBIN_READY)
            j->state = TO_TRY;
        else
            finish(j, j->cubin->status, j->cubin->reason);
    }
}

static tt_status compiled(live *l, size_t worker) {
    const tt__msg_compiled *m = (const tt__msg_compiled *)l->crew.payload.text;
    tt__cubin *cubin = l->compiling[worker];
    l->compiling[worker] = NULL;
    cubin->compile_ms = (m->end_s - m->begin_s) * 1e3;
    tt__timeline_compiled(&l->timeline, worker, cubin, m);
    if (m->done.status == TT_E_COMPILE && cubin->t) {
        tt__cubin_failed(cubin, TT__TRIAL_COMPILE_ERROR, m->done.error);
        return TT_OK;
    }
    if (m->done.status != TT_OK && l->presumed && !l->described) { /* for a GPU that may not be there */
        l->mistaken = true;
        tt__cubins_expect_nothing(&l->cubins);
        return TT_OK;
    }
    TT_TRY(tt__crew_adopt(&m->done)); /* NVRTC itself is unusable: no other configuration would fare better */
    return tt__cubins_ready(&l->cubins, cubin, l->crew.payload.text + sizeof *m,
                            l->crew.payload.len - sizeof *m);
}

/* ---- Trying -------------------------------------------------------------------------------------------- */

/* The GPU worker is gone, or of no more use: what was waiting for it waits for the next one. */
static void drop_gpu_worker(live *l) {
    l->state = CLOSED;
    tt__worker_stop(&l->crew.workers[TT__CREW_GPU]);
    for (int i = 0; i < JOBS_MAX; i++)
        if (l->jobs[i].state == TRYING)
            l->jobs[i].state = TO_TRY;
}

/* What the GPU worker reports; one that has lost its CUDA context is of no more use. */
static tt_status adopt_from_gpu(live *l, const tt__msg_done *done) {
    tt_status status = tt__crew_adopt(done);
    if (status == TT_E_CUDA)
        drop_gpu_worker(l);
    return status;
}

/* A reference is plain, and it runs twice: it has several times as long as a configuration. */
static double preparing_s(const live *l) {
    enum { TRIALS = 6 };
    return tt__is_matrix(&l->problem) ? tt__crew_start_timeout_s : TRIALS * l->opts.trial_timeout_s;
}

/* Sends this problem to the GPU worker, which is started again if it died. */
static tt_status ask_problem(live *l) {
    tt__crew *crew = &l->crew;
    tt__worker *w = &crew->workers[TT__CREW_GPU];
    if (!w->pid) {
        double begin_s = tt__now_s();
        TT_TRY(tt__crew_restart_gpu(crew));
        tt__timeline_span(&l->timeline, TT__CREW_GPU, "start", begin_s, tt__now_s());
    }
    tt__crew_ask_problem(crew, &l->problem, &l->work, l->checker, l->reference, preparing_s(l));
    l->state = OPENING;
    return TT_OK;
}

static tt_status opened(live *l) {
    const tt__msg_opened *m = (const tt__msg_opened *)l->crew.payload.text;
    l->state = CLOSED;
    TT_TRY(adopt_from_gpu(l, &m->done));
    if (m->context_end_s > 0)
        tt__timeline_span(&l->timeline, TT__CREW_GPU, "context", m->context_begin_s, m->context_end_s);
    tt__timeline_span(&l->timeline, TT__CREW_GPU, "problem", m->begin_s, m->end_s);
    l->state = OPEN;
    l->failures = 0;
    return TT_OK;
}

/* A worker that dies over a problem, before any kernel of a template has run, deserves another chance; a
 * reference that does not end gets none. */
static tt_status try_again(live *l, tt_status status) {
    enum { TRIES = 3 };
    l->state = CLOSED;
    return status == TT_E_IO && ++l->failures < TRIES ? TT_OK : status;
}

static tt_status open_problem(live *l) {
    tt_status status = ask_problem(l);
    return status == TT_OK ? TT_OK : try_again(l, status);
}

/* Asks for the trial of a job; of a worker that is busy with another trial it is the next. */
static void ask_trial(live *l, size_t at, const char *waited_for) {
    job *j = &l->jobs[at];
    tt__crew_ask_trial(&l->crew, at, l->opts.trial_timeout_s, j->c, j->cubin, l->cutoff_us);
    j->waited_for = waited_for;
    j->state = TRYING;
}

/* The first time it is told, and counted for the end. */
static void note_falls(live *l, const tt__clock_falls *falls) {
    char line[256];
    if (falls->n == 0)
        return;
    tt__timeline_falls(&l->timeline, falls);
    if (l->n_falls == 0 && l->opts.on_message) {
        snprintf(
            line, sizeof line,
            "the GPU's clock fell from %u to %u MHz%s%s: samples are taken again, and the run takes longer",
            falls->usual_mhz, falls->lowest_mhz, falls->why[0] ? " because of " : "", falls->why);
        l->opts.on_message(l->opts.user, line);
    }
    l->n_falls += falls->n;
}

static void tried(live *l, job *j) {
    const tt__msg_tried *m = (const tt__msg_tried *)l->crew.payload.text;
    double compile_ms = j->trial.compile_ms;
    tt__timeline_tried(&l->timeline, j->c, m, j->waited_for);
    note_falls(l, &m->falls);
    j->trial = m->trial;
    j->trial.compile_ms = compile_ms;
    j->state = DONE;
    if (j->trial.status == TT__TRIAL_CRASHED) /* the worker has lost its CUDA context, and leaves */
        drop_gpu_worker(l);
}

/* ---- The loop ------------------------------------------------------------------------------------------ */

/* The oldest job in a state, or NO_JOB. */
static int oldest(const live *l, job_state state) {
    int best = NO_JOB;
    for (int i = 0; i < JOBS_MAX; i++)
        if (l->jobs[i].state == state && (best == NO_JOB || l->jobs[i].order < l->jobs[best].order))
            best = i;
    return best;
}

static tt_status no_reference(const live *l) {
    const tt__template *of = l->reference->t;
    return tt__fail(TT_E_COMPILE,
                    "%s: the reference %s, which is compiled with the default configuration, is not to be "
                    "had: %s: %s",
                    of->path, l->work.reference.name[0], tt__trial_status_name(l->reference->status),
                    l->reference->reason);
}

/* The arrays, once there is what they are filled and checked with. */
static tt_status prepare(tt__backend *b) {
    live *l = (live *)b;
    if (l->checker->state != TT__CUBIN_READY)
        return TT_OK;
    if (l->state == CLOSED && l->reference && l->reference->state != TT__CUBIN_READY)
        return l->reference->state == TT__CUBIN_FAILED ? no_reference(l) : TT_OK;
    if (tt__worker_gone(&l->crew.workers[TT__CREW_GPU]))
        drop_gpu_worker(l);
    return l->state == CLOSED ? open_problem(l) : TT_OK;
}

/* An idle GPU gets a trial, a busy one also the next, so that it need not wait for us in between. */
static tt_status feed_gpu(live *l) {
    const tt__worker *w = &l->crew.workers[TT__CREW_GPU];
    int at = oldest(l, TO_TRY);
    bool more = oldest(l, TO_COMPILE) != NO_JOB;
    if (!w->busy && at == NO_JOB)
        tt__timeline_starved(&l->timeline, more);
    if (at == NO_JOB && !more)
        return TT_OK;
    TT_TRY(prepare(&l->base));
    if (l->state != OPEN || at == NO_JOB)
        return TT_OK;
    if (!w->busy) {
        ask_trial(l, (size_t)at, tt__timeline_lacked(&l->timeline));
        at = oldest(l, TO_TRY);
    }
    if (at != NO_JOB && !w->ahead && sizeof(tt__msg_trial) + l->jobs[at].cubin->image.len < w->ahead_bytes)
        ask_trial(l, (size_t)at, "the next request");
    return TT_OK;
}

/* May one more compile what is only expected? One in eight stays free for what is wanted: expected ones may
 * hang. */
static bool may_work_ahead(const live *l) {
    size_t n = l->crew.n - TT__CREW_COMPILER, ahead = 0;
    for (size_t w = TT__CREW_COMPILER; w < l->crew.n; w++)
        ahead += l->crew.workers[w].busy && l->compiling[w] && !l->compiling[w]->wanted;
    return ahead + (n + 7) / 8 < n;
}

static tt_status feed_compilers(live *l) {
    tt__crew *crew = &l->crew;
    for (size_t w = TT__CREW_COMPILER; w < crew->n; w++) {
        tt__cubin *cubin;
        if (crew->workers[w].busy)
            continue;
        TT_TRY(tt__cubins_next(&l->cubins, may_work_ahead(l), &cubin));
        if (!cubin)
            break;
        if (tt__worker_gone(&crew->workers[w]))
            tt__worker_stop(&crew->workers[w]);
        if (!crew->workers[w].pid)
            TT_TRY(tt__crew_start(crew, w));
        l->compiling[w] = cubin;
        tt__crew_ask_compile(crew, w, cubin->t ? cubin->t->path : tt__checker[0].name,
                             cubin->t ? cubin->t->source : tt__checker[0].source, &cubin->options,
                             cubin->n_options);
    }
    return TT_OK;
}

static void finished(live *l) {
    const char *at = l->crew.payload.text;
    tt__clock_falls falls;
    l->at_finals = false;
    memcpy(&l->finals_done, at, sizeof l->finals_done);
    memcpy(&falls, at += sizeof l->finals_done, sizeof falls);
    at += sizeof falls;
    size_t size = (size_t)(l->crew.payload.text + l->crew.payload.len - at);
    memcpy(l->finalists, at, size < sizeof l->finalists ? size : sizeof l->finalists);
    note_falls(l, &falls);
}

static tt_status replied(live *l, const tt__event *e) {
    switch (e->type) {
    case TT__MSG_HELLO:
        return tt__crew_adopt(&((const tt__msg_hello *)l->crew.payload.text)->done);
    case TT__MSG_DESCRIBED:
        l->described = true;
        return tt__crew_described(&l->crew);
    case TT__MSG_COMPILED:
        return compiled(l, e->worker);
    case TT__MSG_OPENED:
        return opened(l);
    case TT__MSG_TRIED:
        tried(l, &l->jobs[e->job]);
        return TT_OK;
    case TT__MSG_FINISHED:
        finished(l);
        return TT_OK;
    default:
        return tt__fail(TT_E_INTERNAL, "an unexpected message of type %u", e->type);
    }
}

/* The worker is gone while it made the arrays ready and, perhaps, ran a reference of somebody's own. */
static tt_status lost_opening(live *l, const tt__event *e) {
    const bool timeout = e->kind == TT__EVENT_TIMEOUT, own = !tt__is_matrix(&l->problem);
    const char *reference = own && l->reference ? l->work.reference.name[0] : "";
    drop_gpu_worker(l);
    if (timeout && own)
        return tt__fail(TT_E_CUDA,
                        "preparing the arrays%s%s took longer than %g s, six times the limit of a trial%s",
                        *reference ? " and running the reference " : "", reference, preparing_s(l),
                        *reference ? ": does it end?" : "");
    return try_again(l, tt__fail(TT_E_IO, "the GPU worker %s%s%s",
                                 timeout ? "did not answer in time and was stopped" : e->reason,
                                 *reference ? ", maybe because of the reference " : "", reference));
}

/* The worker is gone, and with it what it was at. */
static tt_status lost(live *l, const tt__event *e) {
    char reason[256];
    bool gpu = e->worker == TT__CREW_GPU, timeout = e->kind == TT__EVENT_TIMEOUT;
    job *j = &l->jobs[e->job];
    tt__cubin *cubin = l->compiling[e->worker];
    if (gpu && l->state == OPENING)
        return lost_opening(l, e);
    if (gpu ? j->state != TRYING : !cubin || !cubin->t)
        return tt__fail(TT_E_IO, "%s worker %s", gpu ? "the GPU" : "a compile",
                        timeout ? "did not answer in time and was stopped" : e->reason);
    if (timeout)
        snprintf(reason, sizeof reason, "%s longer than %g s", gpu ? "ran" : "compiled",
                 gpu ? l->opts.trial_timeout_s : l->opts.compile_timeout_s);
    else
        snprintf(reason, sizeof reason, "its %s %s", gpu ? "GPU worker" : "compiler", e->reason);
    tt__trial_status status = timeout ? TT__TRIAL_TIMEOUT : TT__TRIAL_CRASHED;
    tt__timeline_lost(&l->timeline, e->worker, gpu ? j->c->t : cubin->t, gpu ? j->c->config : cubin->config,
                      reason);
    if (gpu) {
        finish(j, status, reason);
        drop_gpu_worker(l);
    } else {
        l->compiling[e->worker] = NULL;
        tt__cubin_failed(cubin, status, reason);
    }
    return TT_OK;
}

static void count_queues(live *l) {
    int64_t to_try = 0;
    for (int i = 0; i < JOBS_MAX; i++)
        to_try += l->jobs[i].state == TO_TRY || l->jobs[i].state == TRYING;
    tt__timeline_queues(&l->timeline, (int64_t)tt__cubins_queued(&l->cubins), to_try);
}

static tt_status turn(live *l) {
    tt__event e;
    promote(l);
    TT_TRY(feed_gpu(l));
    TT_TRY(feed_compilers(l));
    TT_TRY(tt__cubins_save(&l->cubins, false));
    count_queues(l);
    TT_TRY(tt__workers_wait(l->crew.workers, l->crew.n, tt__crew_poll_s, &e, &l->crew.payload));
    if (e.kind == TT__EVENT_NONE)
        return TT_OK;
    return e.kind == TT__EVENT_REPLY ? replied(l, &e) : lost(l, &e);
}

static tt_status wait(tt__backend *b, size_t *id, tt__trial *trial) {
    live *l = (live *)b;
    int at;
    while ((at = oldest(l, DONE)) == NO_JOB) {
        TT_TRY(tt__crew_stop_asked(&l->crew));
        TT_TRY(turn(l));
        promote(l);
    }
    if (l->state == OPEN)
        TT_TRY(feed_gpu(l)); /* it works on while the caller stores this trial */
    *id = l->jobs[at].id;
    *trial = l->jobs[at].trial;
    l->jobs[at] = (job){0};
    return TT_OK;
}

/* ---- Finals -------------------------------------------------------------------------------------------- */

static tt_status await(live *l, const tt__cubin *cubin) {
    while (cubin->state <= TT__CUBIN_COMPILING) {
        TT_TRY(tt__crew_stop_asked(&l->crew));
        TT_TRY(turn(l));
    }
    return cubin->state == TT__CUBIN_READY ? TT_OK : tt__fail(TT_E_COMPILE, "%s", cubin->reason);
}

static tt_status await_problem(live *l) {
    while (l->state != OPEN) {
        if (l->state == CLOSED)
            TT_TRY(open_problem(l));
        TT_TRY(tt__crew_stop_asked(&l->crew));
        TT_TRY(turn(l));
    }
    return TT_OK;
}

/* The finalists' cubins. Their trials may be of an earlier run whose cubins have been pruned. */
static tt_status finalist_cubins(live *l, const tt__candidate *const *c, size_t n, tt__cubin **cubins) {
    TT_TRY(await(l, l->checker)); /* if all trials were stored nobody has waited for it */
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

/* A GPU worker that nobody listens to any more is of no use. */
static tt_status await_finals(live *l) {
    tt_status status = TT_OK;
    l->at_finals = true;
    if (l->base.meanwhile)
        l->base.meanwhile(l->base.user);
    while (l->at_finals && status == TT_OK) {
        status = tt__crew_stop_asked(&l->crew);
        if (status == TT_OK)
            status = turn(l);
    }
    if (l->at_finals)
        drop_gpu_worker(l);
    l->at_finals = false;
    return status;
}

static tt_status finals(tt__backend *b, const tt__candidate *const *c, size_t n, tt__rounds rounds,
                        tt__trial *trials) {
    live *l = (live *)b;
    tt__cubin *cubins[TT__FINALISTS_MAX];
    if (n == 0 || n > TT__FINALISTS_MAX)
        return tt__fail(TT_E_INTERNAL, "finals of %zu", n);
    TT_TRY(finalist_cubins(l, c, n, cubins));
    TT_TRY(await_problem(l));
    double begin_s = tt__now_s();
    double timeout_s = l->opts.trial_timeout_s * (double)(n + (size_t)rounds.loads) + 2 * rounds.worth_s;
    tt__crew_ask_finals(&l->crew, timeout_s, c, cubins, n, rounds);
    tt_status status = await_finals(l);
    tt__timeline_span(&l->timeline, TT__CREW_GPU, "finals", begin_s, tt__now_s());
    TT_TRY(status);
    TT_TRY(adopt_from_gpu(l, &l->finals_done));
    memcpy(trials, l->finalists, n * sizeof *trials);
    return TT_OK;
}

static void close_live(tt__backend *b) {
    live *l = (live *)b;
    tt__crew_close(&l->crew);
    tt__cubins_save(&l->cubins, true); /* what is lost in failing here costs a compile, no more */
    tt__cubins_close(&l->cubins);
    free(l->compiling);
    free(l);
}

static const tt__backend_ops live_ops = {.name = name,
                                         .presume = presume,
                                         .hello = hello,
                                         .problem = problem,
                                         .expect = expect,
                                         .prepare = prepare,
                                         .room = room,
                                         .submit = submit,
                                         .wait = wait,
                                         .finals = finals,
                                         .close = close_live};

tt_status tt__backend_live(tt__backend **out, const tt__live_opts *opts) {
    *out = NULL;
    live *l = calloc(1, sizeof *l);
    if (!l)
        return tt__fail_memory(sizeof *l);
    l->base.ops = &live_ops;
    l->opts = *opts;
    l->cubins.store = opts->store;
    tt_status status;
    TT_GOTO(tt__crew_open(&l->crew, opts->device, opts->jobs, opts->compile_timeout_s, opts->should_stop,
                          opts->user));
    l->compiling = calloc(l->crew.n, sizeof *l->compiling);
    if (!l->compiling)
        TT_GOTO(tt__fail_memory(l->crew.n * sizeof *l->compiling));
    tt__timeline_open(&l->timeline, opts->trace, l->crew.n);
    *out = &l->base;
    return TT_OK;
out:
    close_live(&l->base);
    return status;
}
