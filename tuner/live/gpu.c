/* The GPU worker: what it is asked for, and what becomes of its replies. */
#include <stdio.h>

#include "base/clock.h"
#include "template/task.h"
#include "tuner/live/live.h"

void tt__live_drop_gpu(tt__live *l) {
    l->state = TT__ARRAYS_CLOSED;
    tt__worker_stop(&l->crew.workers[TT__CREW_GPU]);
    for (int i = 0; i < TT__JOBS_MAX; i++)
        if (l->jobs[i].state == TT__JOB_TRYING)
            l->jobs[i].state = TT__JOB_TO_TRY;
}

tt_status tt__live_adopt(tt__live *l, const tt__msg_done *done) {
    tt_status status = tt__crew_adopt(done);
    if (status == TT_E_CUDA)
        tt__live_drop_gpu(l);
    return status;
}

/* A reference is plain, and it runs twice: it has several times as long as a configuration. */
double tt__live_preparing_s(const tt__live *l) {
    enum { TRIALS = 6 };
    return tt__is_matrix(&l->problem) ? tt__crew_start_timeout_s : TRIALS * l->opts.trial_timeout_s;
}

/* Sends this problem to the GPU worker, which is started again if it died. */
static tt_status ask_problem(tt__live *l) {
    tt__crew *crew = &l->crew;
    tt__worker *w = &crew->workers[TT__CREW_GPU];
    if (!w->pid) {
        double begin_s = tt__now_s();
        TT_TRY(tt__crew_restart_gpu(crew));
        tt__timeline_span(&l->timeline, TT__CREW_GPU, "start", begin_s, tt__now_s());
    }
    tt__crew_ask_problem(crew, &l->problem, &l->work, l->checker, l->reference, tt__live_preparing_s(l));
    l->state = TT__ARRAYS_OPENING;
    return TT_OK;
}

tt_status tt__live_opened(tt__live *l) {
    const tt__msg_opened *m = (const tt__msg_opened *)l->crew.payload.text;
    l->state = TT__ARRAYS_CLOSED;
    TT_TRY(tt__live_adopt(l, &m->done));
    if (m->context_end_s > 0)
        tt__timeline_span(&l->timeline, TT__CREW_GPU, "context", m->context_begin_s, m->context_end_s);
    tt__timeline_span(&l->timeline, TT__CREW_GPU, "problem", m->begin_s, m->end_s);
    l->state = TT__ARRAYS_OPEN;
    l->failures = 0;
    return TT_OK;
}

tt_status tt__live_try_again(tt__live *l, tt_status status) {
    enum { TRIES = 3 };
    l->state = TT__ARRAYS_CLOSED;
    return status == TT_E_IO && ++l->failures < TRIES ? TT_OK : status;
}

tt_status tt__live_open_problem(tt__live *l) {
    tt_status status = ask_problem(l);
    return status == TT_OK ? TT_OK : tt__live_try_again(l, status);
}

void tt__live_ask_trial(tt__live *l, size_t at, const char *waited_for) {
    tt__job *j = &l->jobs[at];
    tt__crew_ask_trial(&l->crew, at, l->opts.trial_timeout_s, j->c, j->cubin, l->cutoff_us);
    j->waited_for = waited_for;
    j->state = TT__JOB_TRYING;
}

/* The first time it is told, and counted for the end. */
static void note_falls(tt__live *l, const tt__clock_falls *falls) {
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

void tt__live_tried(tt__live *l, tt__job *j) {
    const tt__msg_tried *m = (const tt__msg_tried *)l->crew.payload.text;
    double compile_ms = j->trial.compile_ms;
    tt__timeline_tried(&l->timeline, j->c, m, j->waited_for);
    note_falls(l, &m->falls);
    j->trial = m->trial;
    j->trial.compile_ms = compile_ms;
    j->state = TT__JOB_DONE;
    if (j->trial.status == TT__TRIAL_CRASHED) /* the worker has lost its CUDA context, and leaves */
        tt__live_drop_gpu(l);
}

void tt__live_finished(tt__live *l) {
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

static tt_status no_reference(const tt__live *l) {
    const tt__template *of = l->reference->t;
    return tt__fail(TT_E_COMPILE,
                    "%s: the reference %s, which is compiled with the default configuration, is not to be "
                    "had: %s: %s",
                    of->path, l->work.reference.name[0], tt__trial_status_name(l->reference->status),
                    l->reference->reason);
}

tt_status tt__live_prepare(tt__live *l) {
    if (l->checker->state != TT__CUBIN_READY)
        return TT_OK;
    if (l->state == TT__ARRAYS_CLOSED && l->reference && l->reference->state != TT__CUBIN_READY)
        return l->reference->state == TT__CUBIN_FAILED ? no_reference(l) : TT_OK;
    if (tt__worker_gone(&l->crew.workers[TT__CREW_GPU]))
        tt__live_drop_gpu(l);
    return l->state == TT__ARRAYS_CLOSED ? tt__live_open_problem(l) : TT_OK;
}
