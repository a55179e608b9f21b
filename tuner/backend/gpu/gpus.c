/*
 * GPU workers: started, given a problem and trials, lost, given up.
 */
#include "tuner/backend/gpu/loop.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/str.h"
#include "tuner/session/limits.h"

void tt__loop_drop_gpu(tt__loop *l, size_t gpu) {
    l->gpus[gpu].state = TT__ARRAYS_CLOSED;
    tt__worker_stop(&l->workers.items[gpu]);
    for (int i = 0; i < TT__JOBS_MAX; i++)
        if (l->jobs[i].state == TT__JOB_TRYING && l->jobs[i].gpu == gpu)
            l->jobs[i].state = TT__JOB_TO_TRY;
}

/* Are there GPUs besides this one? */
static bool has_others(const tt__loop *l, size_t gpu) {
    for (size_t i = 0; i < l->workers.n_gpus; i++)
        if (i != gpu && !l->gpus[i].given_up)
            return true;
    return false;
}

void tt__loop_say_lines(const tt__loop *l, const char *path, const char *lines) {
    for (size_t n; *lines; lines += n + (lines[n] == '\n')) {
        n = strcspn(lines, "\n");
        tt__loop_say(l, "%s: %.*s", path, (int)n, lines);
    }
}

void tt__loop_say(const tt__loop *l, const char *fmt, ...) {
    char line[512];
    va_list args;
    if (!l->opts.on_message)
        return;
    va_start(args, fmt);
    tt__vformat(line, sizeof line, fmt, args);
    va_end(args);
    l->opts.on_message(l->opts.user, line);
}

tt_status tt__loop_give_up(tt__loop *l, size_t gpu, tt_status status) {
    if (status == TT_E_INTERRUPTED || !has_others(l, gpu))
        return status;
    tt__loop_drop_gpu(l, gpu);
    l->gpus[gpu].given_up = true;
    for (size_t i = 0; i < TT__LANES_MAX; i++) {
        if (!l->lanes[i] || l->lanes[i]->finals.held != gpu + 1)
            continue;
        if (l->lanes[i]->finals.state == TT__FINALS_ON_GPU)
            l->lanes[i]->finals.state = TT__FINALS_ASKED; /* another GPU holds them anew */
        tt__loop_release(l, i);
    }
    tt__loop_say(l, "device %d is left out from now on, the others go on: %s", l->workers.devices[gpu],
                 tt_last_error());
    for (int i = 0; i < TT__JOBS_MAX; i++) /* the last GPU tries all jobs */
        if (l->jobs[i].lost_by && !has_others(l, l->jobs[i].lost_by - 1))
            l->jobs[i].lost_by = 0;
    return TT_OK;
}

tt_status tt__loop_adopt(tt__loop *l, size_t gpu, const tt__msg_done *done) {
    tt_status status = tt__workers_adopt(done);
    if (status == TT_E_CUDA)
        tt__loop_drop_gpu(l, gpu);
    return status;
}

/* A user's reference is simple, and runs twice, so it gets several times as long as a configuration. */
static double preparing_s(const tt__loop *l, const tt__task *task) {
    enum { TRIALS = 6 };
    return tt__problem_is_users(&task->problem) ? TRIALS * l->opts.trial_timeout_s
                                                : tt__workers_start_timeout_s;
}

/* A worker that dies while it prepares a problem is replaced. A reference that hangs is not tried again. */
static tt_status try_again(tt__loop *l, size_t gpu, tt_status status) {
    enum { TRIES = 3 };
    l->gpus[gpu].state = TT__ARRAYS_CLOSED;
    const bool again = l->described && status == TT_E_IO && ++l->gpus[gpu].failures < TRIES;
    return again ? TT_OK : tt__loop_give_up(l, gpu, status);
}

tt_status tt__loop_opened(tt__loop *l, size_t gpu) {
    const tt__msg_opened *m = (const tt__msg_opened *)l->workers.payload.text;
    l->gpus[gpu].state = TT__ARRAYS_CLOSED;
    tt_status status = tt__loop_adopt(l, gpu, &m->done);
    if (status != TT_OK)
        return tt__loop_give_up(l, gpu, status);
    tt__task *task = &l->lanes[l->gpus[gpu].lane]->task;
    if (l->gpus[gpu].task == task->number && !task->noted) { /* by the first GPU */
        tt__loop_say_lines(l, task->reference ? task->reference->t->path : task->problem.op, m->notes);
        task->noted = true;
    }
    if (m->context_end_s > 0)
        tt__timeline_span(&l->timeline, gpu, "context", m->context_begin_s, m->context_end_s);
    tt__timeline_span(&l->timeline, gpu, "problem", m->begin_s, m->end_s);
    if (l->gpus[gpu].task == tt__loop_task(l, gpu)->number) /* else it changed meanwhile */
        l->gpus[gpu].state = TT__ARRAYS_OPEN;
    l->gpus[gpu].failures = 0;
    return TT_OK;
}

tt_status tt__loop_open_problem(tt__loop *l, size_t gpu) {
    const tt__task *task = tt__loop_task(l, gpu);
    if (!l->workers.items[gpu].pid) {
        l->gpus[gpu].started_s = tt__now_s();
        tt_status status = tt__workers_start(&l->workers, gpu);
        if (status != TT_OK)
            return try_again(l, gpu, status);
        l->gpus[gpu].state = TT__ARRAYS_STARTING;
        return TT_OK;
    }
    tt__workers_ask_problem(&l->workers, gpu, &task->problem, &task->work, task->checker, task->reference,
                            preparing_s(l, task));
    l->gpus[gpu].task = task->number;
    l->gpus[gpu].state = TT__ARRAYS_OPENING;
    return TT_OK;
}

/* A worker started during the run has told its GPU, which has to be the one of the search. */
static tt_status restarted(tt__loop *l, size_t gpu) {
    const tt__gpu searched = l->workers.gpu;
    tt_status status = tt__workers_described(&l->workers);
    if (status == TT_OK && !tt__same_gpu(&searched, &l->workers.gpu))
        status = tt__fail(TT_E_NO_DEVICE, "it is %s, not %s", l->workers.gpu.name, searched.name);
    l->workers.gpu = searched;
    if (status != TT_OK)
        return try_again(l, gpu, status);
    tt__timeline_span(&l->timeline, gpu, "start", l->gpus[gpu].started_s, tt__now_s());
    l->gpus[gpu].state = TT__ARRAYS_CLOSED;
    return TT_OK;
}

tt_status tt__loop_described(tt__loop *l, size_t gpu) {
    if (l->described)
        return restarted(l, gpu);
    tt_status status = tt__workers_described(&l->workers);
    if (status == TT_E_CUDA || status == TT_E_NO_DEVICE)
        return tt__loop_give_up(l, gpu, status);
    TT_TRY(status); /* what all of them lack */
    tt__timeline_span(&l->timeline, gpu, "start", l->gpus[gpu].started_s, tt__now_s());
    l->described = true;
    l->gpus[gpu].state = TT__ARRAYS_CLOSED;
    return TT_OK;
}

void tt__loop_ask_trial(tt__loop *l, size_t gpu, size_t at, const char *waited_for) {
    tt__job *j = &l->jobs[at];
    tt__workers_ask_trial(&l->workers, gpu, at, l->opts.trial_timeout_s, j->c, j->cubin, &j->checks,
                          l->lanes[j->lane]->cutoff_us);
    j->waited_for = waited_for;
    j->gpu = gpu;
    j->state = TT__JOB_TRYING;
}

void tt__loop_note_falls(tt__loop *l, size_t gpu, const tt__clock_falls *falls) {
    if (falls->n == 0)
        return;
    tt__timeline_falls(&l->timeline, gpu, falls);
    if (l->n_falls == 0)
        tt__loop_say(
            l,
            "the GPU's clock fell from %u to %u MHz%s%s: samples are taken again, and the run takes longer",
            falls->usual_mhz, falls->lowest_mhz, falls->why[0] ? " because of " : "", falls->why);
    l->n_falls += falls->n;
}

/* A trial was lost with its worker, because of the configuration or of the GPU. Another GPU, if there is one,
 * shows which. */
static void lost_trial(tt__loop *l, tt__job *j, tt__trial_status status, const char *reason) {
    if (!j->lost_by && has_others(l, j->gpu)) {
        j->lost_by = j->gpu + 1;
        j->state = TT__JOB_TO_TRY;
    } else {
        tt__loop_finish(j, status, reason);
    }
}

/* Another GPU did the trial that this one lost. */
static tt_status strike(tt__loop *l, size_t gpu) {
    enum { STRIKES = 2 };
    if (++l->gpus[gpu].strikes < STRIKES || l->gpus[gpu].given_up)
        return TT_OK;
    return tt__loop_give_up(l, gpu,
                            tt__fail(TT_E_CUDA, "it lost %d trials that others did", l->gpus[gpu].strikes));
}

tt_status tt__loop_tried(tt__loop *l, size_t gpu, tt__job *j) {
    const tt__msg_tried *m = (const tt__msg_tried *)l->workers.payload.text;
    tt__trial trial = m->trial;
    trial.compile_ms = j->trial.compile_ms;
    tt__timeline_tried(&l->timeline, gpu, j->c, m, j->waited_for);
    tt__loop_note_falls(l, gpu, &m->falls);
    l->gpus[gpu].sm_mhz = m->sm_mhz;
    if (trial.status == TT__TRIAL_CRASHED) { /* the worker has lost its CUDA context, and exits */
        lost_trial(l, j, trial.status, trial.reason);
        if (j->state == TT__JOB_DONE)
            j->trial = trial;
        tt__loop_drop_gpu(l, gpu);
        return TT_OK;
    }
    j->trial = trial;
    j->state = TT__JOB_DONE;
    return j->lost_by ? strike(l, j->lost_by - 1) : TT_OK;
}

/* The worker died while it started, or prepared the arrays and, perhaps, ran the user's reference. */
static tt_status lost_opening(tt__loop *l, const tt__event *e) {
    const tt__task *task = tt__loop_task(l, e->worker);
    const bool opening = l->gpus[e->worker].state == TT__ARRAYS_OPENING,
               timeout = e->kind == TT__EVENT_TIMEOUT, own = tt__problem_is_users(&task->problem);
    const char *reference = opening && own && task->work.launch.n_passes ? task->work.reference.name[0] : "";
    tt__loop_drop_gpu(l, e->worker);
    if (opening && timeout && own)
        return tt__loop_give_up(
            l, e->worker,
            tt__fail(TT_E_CUDA,
                     "preparing the arrays%s%s took longer than %g s, six times the limit of a trial%s",
                     *reference ? " and running the reference " : "", reference, preparing_s(l, task),
                     *reference ? ": does it end?" : ""));
    return try_again(l, e->worker,
                     tt__fail(TT_E_IO, "the GPU worker %s%s%s", e->reason,
                              *reference ? ", maybe because of the reference " : "", reference));
}

tt_status tt__loop_lost_gpu(tt__loop *l, const tt__event *e) {
    const tt__arrays_state state = l->gpus[e->worker].state;
    const bool timeout = e->kind == TT__EVENT_TIMEOUT;
    tt__job *j = &l->jobs[e->job];
    char reason[256];
    if (state == TT__ARRAYS_OPENING || state == TT__ARRAYS_STARTING)
        return lost_opening(l, e);
    if (tt__loop_is_on_gpu(l, e->worker))
        return timeout
                   ? tt__loop_late_finals(l, e->worker)
                   : tt__loop_lost_finals(l, e->worker, tt__fail(TT_E_IO, "the GPU worker %s", e->reason));
    if (j->state != TT__JOB_TRYING || j->gpu != e->worker)
        return tt__fail(TT_E_IO, "the GPU worker %s", e->reason);
    if (timeout)
        tt__format(reason, sizeof reason, "ran longer than %g s", l->opts.trial_timeout_s);
    else
        snprintf(reason, sizeof reason, "its GPU worker %s", e->reason);
    tt__timeline_lost(&l->timeline, e->worker, j->c->t->kernel, j->c->config, reason);
    j->trial.limit_s = timeout ? l->opts.trial_timeout_s : 0;
    lost_trial(l, j, timeout ? TT__TRIAL_TIMEOUT : TT__TRIAL_CRASHED, reason);
    tt__loop_drop_gpu(l, e->worker);
    return TT_OK;
}
