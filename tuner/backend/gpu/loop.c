/*
 * The event loop: requests to the workers, and what their replies change.
 */
#include "tuner/backend/gpu/loop.h"

#include <math.h>

#include "base/clock.h"

tt__loop_lane *tt__loop_now(const tt__loop *l) {
    return l->lanes[l->at];
}

const tt__task *tt__loop_task(const tt__loop *l, size_t gpu) {
    return &l->lanes[l->gpus[gpu].lane]->task;
}

bool tt__loop_is_on_gpu(const tt__loop *l, size_t gpu) {
    const tt__lane_finals *f = &l->lanes[l->gpus[gpu].lane]->finals;
    return f->held == gpu + 1 && f->state == TT__FINALS_ON_GPU;
}

void tt__loop_finish(tt__job *j, tt__trial_status status, const char *reason) {
    j->state = TT__JOB_DONE;
    j->trial.status = status;
    tt__copy(j->trial.reason, sizeof j->trial.reason, reason);
}

/* Has it not reached a GPU? */
static bool is_awaited(const tt__job *j) {
    return j->state == TT__JOB_TO_COMPILE || j->state == TT__JOB_TO_TRY;
}

void tt__loop_promote(tt__loop *l) {
    for (int i = 0; i < TT__JOBS_MAX; i++) {
        tt__job *j = &l->jobs[i];
        if (is_awaited(j) && tt__now_s() >= l->lanes[j->lane]->await_s) {
            if (j->cubin->state == TT__CUBIN_IDLE)
                j->cubin->wanted = 0; /* others come first */
            tt__loop_finish(j, TT__TRIAL_SKIPPED, "");
        }
        if (j->state != TT__JOB_TO_COMPILE || j->cubin->state <= TT__CUBIN_COMPILING)
            continue;
        j->trial.compile_ms = j->cubin->compile_ms; /* the first trial with this cubin has its compile time */
        j->cubin->compile_ms = 0;
        if (j->cubin->state == TT__CUBIN_READY)
            j->state = TT__JOB_TO_TRY;
        else {
            j->trial.limit_s = j->cubin->limit_s;
            tt__loop_finish(j, j->cubin->status, j->cubin->reason);
        }
    }
}

int tt__loop_oldest(const tt__loop *l, tt__job_state state) {
    int best = TT__NO_JOB;
    for (int i = 0; i < TT__JOBS_MAX; i++)
        if (l->jobs[i].state == state && (best == TT__NO_JOB || l->jobs[i].order < l->jobs[best].order))
            best = i;
    return best;
}

/* The oldest job that this GPU may try. */
static int oldest_for(const tt__loop *l, size_t gpu) {
    int best = TT__NO_JOB;
    for (int i = 0; i < TT__JOBS_MAX && !l->gpus[gpu].holds_finals; i++)
        if (l->jobs[i].state == TT__JOB_TO_TRY && l->jobs[i].lane == l->gpus[gpu].lane &&
            l->jobs[i].lost_by != gpu + 1 && (best == TT__NO_JOB || l->jobs[i].order < l->jobs[best].order))
            best = i;
    return best;
}

/* A busy GPU's next trial. */
static void feed_next(tt__loop *l, size_t gpu) {
    const tt__worker *w = &l->workers.items[gpu];
    int at = oldest_for(l, gpu);
    if (at != TT__NO_JOB && w->busy && !w->ahead && !tt__loop_is_called(l, gpu) &&
        sizeof(tt__msg_trial) + l->jobs[at].cubin->image.len < w->ahead_bytes)
        tt__loop_ask_trial(l, gpu, (size_t)at, "the next request");
}

tt_status tt__loop_feed_gpu(tt__loop *l) {
    const size_t n = l->workers.n_gpus;
    const bool more = tt__loop_oldest(l, TT__JOB_TO_COMPILE) != TT__NO_JOB;
    for (size_t gpu = 0; gpu < n; gpu++)
        if (!l->workers.items[gpu].busy && !l->gpus[gpu].holds_finals && oldest_for(l, gpu) == TT__NO_JOB)
            tt__timeline_starved(&l->timeline, gpu, more);
    if (tt__loop_oldest(l, TT__JOB_TO_TRY) == TT__NO_JOB && !more)
        return TT_OK;
    TT_TRY(tt__loop_prepare(l));
    for (size_t gpu = 0; gpu < n; gpu++) { /* all idle ones before any gets a second trial */
        int at = oldest_for(l, gpu);
        if (l->gpus[gpu].state == TT__ARRAYS_OPEN && !l->workers.items[gpu].busy && at != TT__NO_JOB)
            tt__loop_ask_trial(l, gpu, (size_t)at, tt__timeline_lacked(&l->timeline, gpu));
    }
    for (size_t gpu = 0; gpu < n; gpu++)
        if (l->gpus[gpu].state == TT__ARRAYS_OPEN)
            feed_next(l, gpu);
    return TT_OK;
}

static tt_status greeted(tt__loop *l, size_t worker) {
    const tt__msg_hello *hello = (const tt__msg_hello *)l->workers.payload.text;
    if (worker >= l->workers.n_gpus)
        return tt__workers_adopt(&hello->done);
    if (!l->greeted)
        tt__copy(l->presumed_name, sizeof l->presumed_name, hello->gpu_name);
    l->greeted = true;
    tt__workers_ask_description(&l->workers, worker);
    return TT_OK;
}

static tt_status replied(tt__loop *l, const tt__event *e) {
    switch (e->type) {
    case TT__MSG_HELLO:
        return greeted(l, e->worker);
    case TT__MSG_DESCRIBED:
        return tt__loop_described(l, e->worker);
    case TT__MSG_COMPILED:
        return tt__loop_compiled(l, e->worker);
    case TT__MSG_OPENED:
        return tt__loop_opened(l, e->worker);
    case TT__MSG_TRIED:
        return tt__loop_tried(l, e->worker, &l->jobs[e->job]);
    case TT__MSG_FINISHED:
        return tt__loop_finished(l, e->worker);
    case TT__MSG_PEAKED:
    case TT__MSG_COUNTED:
    case TT__MSG_BITS_FOUND:
        l->at_count = false;
        return TT_OK;
    default:
        return tt__fail(TT_E_INTERNAL, "an unexpected message of type %u", e->type);
    }
}

static void count_queues(tt__loop *l) {
    int64_t to_try = 0;
    for (int i = 0; i < TT__JOBS_MAX; i++)
        to_try += l->jobs[i].state == TT__JOB_TO_TRY || l->jobs[i].state == TT__JOB_TRYING;
    tt__timeline_queues(&l->timeline, (int64_t)(l->cubins.n_idle + tt__expected_left(l->opts.expected)),
                        to_try);
}

/* How long to wait for an event. */
static double patience_s(const tt__loop *l) {
    double until_s = tt__now_s() + tt__workers_poll_s;
    for (int i = 0; i < TT__JOBS_MAX; i++)
        if (is_awaited(&l->jobs[i]))
            until_s = fmin(until_s, l->lanes[l->jobs[i].lane]->await_s);
    return fmax(until_s - tt__now_s(), 0);
}

tt_status tt__loop_turn(tt__loop *l) {
    tt__event e;
    TT_TRY(tt__workers_stop_asked(&l->workers));
    tt__loop_promote(l);
    TT_TRY(tt__loop_feed_finals(l));
    TT_TRY(tt__loop_feed_gpu(l));
    TT_TRY(tt__loop_feed_compilers(l));
    TT_TRY(tt__cubins_save(&l->cubins, false));
    count_queues(l);
    TT_TRY(tt__worker_wait_any(l->workers.items, l->workers.n, patience_s(l), &e, &l->workers.payload));
    if (e.kind == TT__EVENT_NONE)
        return TT_OK;
    if (e.kind == TT__EVENT_REPLY)
        return replied(l, &e);
    return e.worker < l->workers.n_gpus ? tt__loop_lost_gpu(l, &e) : tt__loop_lost_compiler(l, &e);
}
