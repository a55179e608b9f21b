/* The GPU worker: arrays of a problem, trials one by one, finals. */
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

/* What the GPU worker reports; one that has lost its CUDA context is of no more use. */
static tt_status adopt_from_gpu(tt__live *l, const tt__msg_done *done) {
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
    TT_TRY(adopt_from_gpu(l, &m->done));
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

/* ---- Finals -------------------------------------------------------------------------------------------- */

static tt_status await(tt__live *l, const tt__cubin *cubin) {
    while (cubin->state <= TT__CUBIN_COMPILING) {
        TT_TRY(tt__crew_stop_asked(&l->crew));
        TT_TRY(tt__live_turn(l));
    }
    return cubin->state == TT__CUBIN_READY ? TT_OK : tt__fail(TT_E_COMPILE, "%s", cubin->reason);
}

static tt_status await_problem(tt__live *l) {
    while (l->state != TT__ARRAYS_OPEN) {
        if (l->state == TT__ARRAYS_CLOSED)
            TT_TRY(tt__live_open_problem(l));
        TT_TRY(tt__crew_stop_asked(&l->crew));
        TT_TRY(tt__live_turn(l));
    }
    return TT_OK;
}

/* The finalists' cubins. Their trials may be of an earlier run whose cubins have been pruned. */
static tt_status finalist_cubins(tt__live *l, const tt__candidate *const *c, size_t n, tt__cubin **cubins) {
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
static tt_status await_finals(tt__live *l) {
    tt_status status = TT_OK;
    l->at_finals = true;
    if (l->base.meanwhile)
        l->base.meanwhile(l->base.user);
    while (l->at_finals && status == TT_OK) {
        status = tt__crew_stop_asked(&l->crew);
        if (status == TT_OK)
            status = tt__live_turn(l);
    }
    if (l->at_finals)
        tt__live_drop_gpu(l);
    l->at_finals = false;
    return status;
}

tt_status tt__live_finals(tt__backend *b, const tt__candidate *const *c, size_t n, tt__rounds rounds,
                          tt__trial *trials) {
    tt__live *l = (tt__live *)b;
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
