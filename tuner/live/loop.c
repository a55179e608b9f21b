/* The event loop: who may do what next, and what becomes of what was asked for. */
#include <stdio.h>

#include "base/clock.h"
#include "tuner/live/live.h"
#include "tuner/verify.h"

static void finish(tt__job *j, tt__trial_status status, const char *reason) {
    j->state = TT__JOB_DONE;
    j->trial.status = status;
    tt__copy(j->trial.reason, sizeof j->trial.reason, reason);
}

void tt__live_promote(tt__live *l) {
    for (int i = 0; i < TT__JOBS_MAX; i++) {
        tt__job *j = &l->jobs[i];
        if (j->state != TT__JOB_TO_COMPILE || j->cubin->state <= TT__CUBIN_COMPILING)
            continue;
        j->trial.compile_ms = j->cubin->compile_ms; /* the first trial paid for it */
        j->cubin->compile_ms = 0;
        if (j->cubin->state == TT__CUBIN_READY)
            j->state = TT__JOB_TO_TRY;
        else
            finish(j, j->cubin->status, j->cubin->reason);
    }
}

static tt_status compiled(tt__live *l, size_t worker) {
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

int tt__live_oldest(const tt__live *l, tt__job_state state) {
    int best = TT__NO_JOB;
    for (int i = 0; i < TT__JOBS_MAX; i++)
        if (l->jobs[i].state == state && (best == TT__NO_JOB || l->jobs[i].order < l->jobs[best].order))
            best = i;
    return best;
}

tt_status tt__live_feed_gpu(tt__live *l) {
    const tt__worker *w = &l->crew.workers[TT__CREW_GPU];
    int at = tt__live_oldest(l, TT__JOB_TO_TRY);
    bool more = tt__live_oldest(l, TT__JOB_TO_COMPILE) != TT__NO_JOB;
    if (!w->busy && at == TT__NO_JOB)
        tt__timeline_starved(&l->timeline, more);
    if (at == TT__NO_JOB && !more)
        return TT_OK;
    TT_TRY(tt__live_prepare(l));
    if (l->state != TT__ARRAYS_OPEN || at == TT__NO_JOB)
        return TT_OK;
    if (!w->busy) {
        tt__live_ask_trial(l, (size_t)at, tt__timeline_lacked(&l->timeline));
        at = tt__live_oldest(l, TT__JOB_TO_TRY);
    }
    if (at != TT__NO_JOB && !w->ahead &&
        sizeof(tt__msg_trial) + l->jobs[at].cubin->image.len < w->ahead_bytes)
        tt__live_ask_trial(l, (size_t)at, "the next request");
    return TT_OK;
}

/* May one more compile what is only expected? One in eight stays free for what is wanted: expected ones may
 * hang. */
static bool may_work_ahead(const tt__live *l) {
    size_t n = l->crew.n - TT__CREW_COMPILER, ahead = 0;
    for (size_t w = TT__CREW_COMPILER; w < l->crew.n; w++)
        ahead += l->crew.workers[w].busy && l->compiling[w] && !l->compiling[w]->wanted;
    return ahead + (n + 7) / 8 < n;
}

static tt_status feed_compilers(tt__live *l) {
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

static tt_status replied(tt__live *l, const tt__event *e) {
    switch (e->type) {
    case TT__MSG_HELLO:
        return tt__crew_adopt(&((const tt__msg_hello *)l->crew.payload.text)->done);
    case TT__MSG_DESCRIBED:
        l->described = true;
        return tt__crew_described(&l->crew);
    case TT__MSG_COMPILED:
        return compiled(l, e->worker);
    case TT__MSG_OPENED:
        return tt__live_opened(l);
    case TT__MSG_TRIED:
        tt__live_tried(l, &l->jobs[e->job]);
        return TT_OK;
    case TT__MSG_FINISHED:
        tt__live_finished(l);
        return TT_OK;
    default:
        return tt__fail(TT_E_INTERNAL, "an unexpected message of type %u", e->type);
    }
}

/* The worker is gone while it made the arrays ready and, perhaps, ran a reference of somebody's own. */
static tt_status lost_opening(tt__live *l, const tt__event *e) {
    const bool timeout = e->kind == TT__EVENT_TIMEOUT, own = !tt__is_matrix(&l->problem);
    const char *reference = own && l->reference ? l->work.reference.name[0] : "";
    tt__live_drop_gpu(l);
    if (timeout && own)
        return tt__fail(TT_E_CUDA,
                        "preparing the arrays%s%s took longer than %g s, six times the limit of a trial%s",
                        *reference ? " and running the reference " : "", reference, tt__live_preparing_s(l),
                        *reference ? ": does it end?" : "");
    return tt__live_try_again(l, tt__fail(TT_E_IO, "the GPU worker %s%s%s",
                                          timeout ? "did not answer in time and was stopped" : e->reason,
                                          *reference ? ", maybe because of the reference " : "", reference));
}

/* Nothing can be tried without it: a compiler that dies over it, as of want of memory, deserves another
 * chance. */
static bool is_tried_again(const tt__live *l, tt__cubin *cubin) {
    enum { TRIES = 3 };
    /* A reference of matrices, which may be compiled ahead, is of a template with a task of its own. */
    bool needed = !cubin->t || cubin == l->reference || (cubin->t->own && tt__is_matrix(&l->problem));
    return needed && ++cubin->lost < TRIES;
}

/* The worker is gone, and with it what it was at. */
static tt_status lost(tt__live *l, const tt__event *e) {
    char reason[256];
    bool gpu = e->worker == TT__CREW_GPU, timeout = e->kind == TT__EVENT_TIMEOUT;
    tt__job *j = &l->jobs[e->job];
    tt__cubin *cubin = l->compiling[e->worker];
    if (gpu && l->state == TT__ARRAYS_OPENING)
        return lost_opening(l, e);
    bool again = !gpu && !timeout && cubin && is_tried_again(l, cubin);
    if (!gpu && !timeout && cubin && !cubin->t && !again)
        return tt__fail(TT_E_IO,
                        "a compile worker %s, as did %d before it, over the verifier's own kernels: is there "
                        "memory enough for %zu compilers? Fewer: --jobs N",
                        e->reason, cubin->lost - 1, l->crew.n - TT__CREW_COMPILER);
    if (gpu ? j->state != TT__JOB_TRYING : !cubin || (!cubin->t && !again))
        return tt__fail(TT_E_IO, "%s worker %s", gpu ? "the GPU" : "a compile",
                        timeout ? "did not answer in time and was stopped" : e->reason);
    if (timeout)
        snprintf(reason, sizeof reason, "%s longer than %g s", gpu ? "ran" : "compiled",
                 gpu ? l->opts.trial_timeout_s : l->opts.compile_timeout_s);
    else
        snprintf(reason, sizeof reason, "its %s %s", gpu ? "GPU worker" : "compiler", e->reason);
    tt__trial_status status = timeout ? TT__TRIAL_TIMEOUT : TT__TRIAL_CRASHED;
    tt__timeline_lost(&l->timeline, e->worker, gpu ? j->c->t->kernel : tt__cubin_kernel(cubin),
                      gpu ? j->c->config : cubin->config, reason);
    if (gpu) {
        finish(j, status, reason);
        tt__live_drop_gpu(l);
    } else {
        l->compiling[e->worker] = NULL;
        if (again)
            tt__cubins_again(&l->cubins, cubin);
        else
            tt__cubin_failed(cubin, status, reason);
    }
    return TT_OK;
}

static void count_queues(tt__live *l) {
    int64_t to_try = 0;
    for (int i = 0; i < TT__JOBS_MAX; i++)
        to_try += l->jobs[i].state == TT__JOB_TO_TRY || l->jobs[i].state == TT__JOB_TRYING;
    tt__timeline_queues(&l->timeline, (int64_t)tt__cubins_queued(&l->cubins), to_try);
}

tt_status tt__live_turn(tt__live *l) {
    tt__event e;
    tt__live_promote(l);
    TT_TRY(tt__live_feed_gpu(l));
    TT_TRY(feed_compilers(l));
    TT_TRY(tt__cubins_save(&l->cubins, false));
    count_queues(l);
    TT_TRY(tt__workers_wait(l->crew.workers, l->crew.n, tt__crew_poll_s, &e, &l->crew.payload));
    if (e.kind == TT__EVENT_NONE)
        return TT_OK;
    return e.kind == TT__EVENT_REPLY ? replied(l, &e) : lost(l, &e);
}
