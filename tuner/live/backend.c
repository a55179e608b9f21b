/* The live backend as the session sees it. */
#include <stdlib.h>

#include "template/task.h"
#include "tuner/live/live.h"
#include "tuner/verify.h"

/* The arrays of a problem of which nothing was tried. What is heard of them later would be taken for what is
 * heard of the next. */
static tt_status await_opening(tt__live *l) {
    while (l->state == TT__ARRAYS_OPENING) {
        TT_TRY(tt__crew_stop_asked(&l->crew));
        TT_TRY(tt__live_turn(l));
    }
    return TT_OK;
}

/* Of a search that was given up. */
static void forget_jobs(tt__live *l) {
    if (l->crew.workers[TT__CREW_GPU].busy && l->state == TT__ARRAYS_OPEN)
        tt__live_drop_gpu(l);
    memset(l->jobs, 0, sizeof l->jobs);
}

static tt_status problem(tt__backend *b, const tt__problem *p, const tt__template *t) {
    tt__live *l = (tt__live *)b;
    tt__candidate c = {0};
    forget_jobs(l);
    TT_TRY(tt__cubins_expect_next(&l->cubins, NULL, 0, p));
    TT_TRY(await_opening(l));
    l->problem = *p;
    l->state = TT__ARRAYS_CLOSED;
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
static tt_status expect_task(tt__live *l, const tt__template *t, const tt__problem *p) {
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
    tt__live *l = (tt__live *)b;
    if (c->t->task != l->expected)
        TT_TRY(expect_task(l, c->t, p));
    l->expected = c->t->task;
    return tt__cubins_expect(&l->cubins, c, p);
}

static tt_status expect_next(tt__backend *b, const tt__candidate *const *c, size_t n) {
    tt__live *l = (tt__live *)b;
    return tt__cubins_expect_next(&l->cubins, c, n, &l->problem);
}

static size_t room(const tt__backend *b) {
    const tt__live *l = (const tt__live *)b;
    size_t wanted = 2 * l->crew.n, used = 0;
    for (int i = 0; i < TT__JOBS_MAX; i++)
        used += l->jobs[i].state != TT__JOB_FREE;
    return used < wanted ? wanted - used : 0;
}

static tt_status submit(tt__backend *b, size_t id, const tt__candidate *c, double cutoff_us) {
    tt__live *l = (tt__live *)b;
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
    return tt__cubins_name(&l->cubins, c, &l->problem, cubin);
}

static tt_status wait(tt__backend *b, size_t *id, tt__trial *trial) {
    tt__live *l = (tt__live *)b;
    int at;
    while ((at = tt__live_oldest(l, TT__JOB_DONE)) == TT__NO_JOB) {
        TT_TRY(tt__crew_stop_asked(&l->crew));
        TT_TRY(tt__live_turn(l));
        tt__live_promote(l);
    }
    if (l->state == TT__ARRAYS_OPEN)
        TT_TRY(tt__live_feed_gpu(l)); /* it works on while the caller stores this trial */
    *id = l->jobs[at].id;
    *trial = l->jobs[at].trial;
    l->jobs[at] = (tt__job){0};
    return TT_OK;
}

static tt_status prepare(tt__backend *b) {
    return tt__live_prepare((tt__live *)b);
}

static void close_live(tt__backend *b) {
    tt__live *l = (tt__live *)b;
    tt__crew_close(&l->crew);
    tt__cubins_save(&l->cubins, true); /* what is lost in failing here costs a compile, no more */
    tt__cubins_close(&l->cubins);
    free(l->compiling);
    free(l);
}

static const tt__backend_ops live_ops = {.name = tt__live_name,
                                         .presume = tt__live_presume,
                                         .hello = tt__live_hello,
                                         .problem = problem,
                                         .expect = expect,
                                         .expect_next = expect_next,
                                         .prepare = prepare,
                                         .room = room,
                                         .submit = submit,
                                         .wait = wait,
                                         .finals = tt__live_finals,
                                         .close = close_live};

tt_status tt__backend_live(tt__backend **out, const tt__live_opts *opts) {
    *out = NULL;
    tt__live *l = calloc(1, sizeof *l);
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
