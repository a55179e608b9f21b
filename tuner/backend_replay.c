/*
 * The replay backend. Every trial is looked up in a recording. A configuration that was not recorded is
 * skipped.
 */
#include "tuner/backend_replay.h"

#include <stdio.h>
#include <stdlib.h>

#include "db/recording.h"
#include "template/operation.h"

enum { WAITING_MAX = 64 };

typedef struct replay {
    tt__backend base;
    tt__recording *recording;
    int (*should_stop)(void *user);
    void *user;
    tt__problem problem, before; /* `before` may be the copy; its best configurations join the finals */
    size_t n_waiting;
    struct {
        size_t id;
        const tt__candidate *c;
    } waiting[WAITING_MAX];
} replay;

static tt_status hello(tt__backend *b, tt__gpu *gpu, tt__env *env) {
    const replay *r = (const replay *)b;
    *gpu = *tt__recording_gpu(r->recording);
    *env = *tt__recording_env(r->recording);
    return TT_OK;
}

static tt_status problem(tt__backend *b, const tt__problem *p, const tt__template *t) {
    replay *r = (replay *)b;
    (void)t;
    r->n_waiting = 0;
    r->before = r->problem;
    r->problem = *p;
    return TT_OK;
}

static tt_status add_text(void *user, const tt__problem *p) {
    tt__str *list = user;
    char text[TT__PROBLEM_TEXT_MAX];
    tt__str_addf(list, "%s%s", list->len ? "; " : "", tt__problem_text(text, p));
    return TT_OK;
}

tt_status tt__backend_replay_check(const tt__backend *b, const tt__problem *p) {
    const replay *r = (const replay *)b;
    char text[TT__PROBLEM_TEXT_MAX];
    bool has;
    tt__str list = {0};
    TT_TRY(tt__recording_has(r->recording, p, &has));
    if (has)
        return TT_OK;
    tt_status status = tt__recording_problems(r->recording, p->op, add_text, &list);
    if (status == TT_OK)
        status = tt__fail(TT_E_INVALID, "the recording has no %s of %s%s; it has: %s", p->op,
                          tt__problem_text(text, p), p->warm ? ", warm" : "",
                          list.len ? tt__str_text(&list) : "none of any size");
    tt__str_free(&list);
    return status;
}

static size_t room(const tt__backend *b) {
    return WAITING_MAX - ((const replay *)b)->n_waiting;
}

static tt_status submit(tt__backend *b, size_t id, const tt__candidate *c, double cutoff_us) {
    replay *r = (replay *)b;
    (void)cutoff_us;
    if (r->n_waiting == WAITING_MAX)
        return tt__fail(TT_E_INTERNAL, "more than %d trials at once", WAITING_MAX);
    r->waiting[r->n_waiting].id = id;
    r->waiting[r->n_waiting++].c = c;
    return TT_OK;
}

static tt_status look_up(replay *r, const tt__candidate *c, tt__stage stage, tt__trial *trial) {
    bool found;
    TT_TRY(tt__recording_trial(r->recording, &r->problem, c->t->kernel, c->config, stage, trial, &found));
    if (!found && strcmp(r->before.op, c->t->op) == 0)
        TT_TRY(tt__recording_trial(r->recording, &r->before, c->t->kernel, c->config, stage, trial, &found));
    if (!found) {
        *trial = (tt__trial){.status = TT__TRIAL_SKIPPED};
        snprintf(trial->reason, sizeof trial->reason, "not in the recording");
    }
    return TT_OK;
}

static tt_status wait(tt__backend *b, size_t *id, tt__trial *trial) {
    replay *r = (replay *)b;
    if (r->n_waiting == 0)
        return tt__fail(TT_E_INTERNAL, "waiting for no trial");
    if (r->should_stop && r->should_stop(r->user))
        return tt__fail(TT_E_INTERRUPTED, "interrupted");
    *id = r->waiting[0].id;
    TT_TRY(look_up(r, r->waiting[0].c, TT__STAGE_SCREEN, trial));
    r->n_waiting--;
    memmove(&r->waiting[0], &r->waiting[1], r->n_waiting * sizeof r->waiting[0]);
    return TT_OK;
}

static tt_status finals(tt__backend *b, const tt__candidate *const *c, size_t n, tt__rounds rounds,
                        tt__trial *trials) {
    (void)rounds; /* there are as many rounds as were recorded */
    for (size_t i = 0; i < n; i++)
        TT_TRY(look_up((replay *)b, c[i], TT__STAGE_FINAL, &trials[i]));
    return TT_OK;
}

static void close_replay(tt__backend *b) {
    tt__recording_close(&((replay *)b)->recording);
    free(b);
}

static const tt__backend_ops replay_ops = {.hello = hello,
                                           .problem = problem,
                                           .room = room,
                                           .submit = submit,
                                           .wait = wait,
                                           .finals = finals,
                                           .close = close_replay};

tt_status tt__backend_replay(tt__backend **out, const char *path, const tt__foreign *foreign,
                             int (*should_stop)(void *user), void *user) {
    *out = NULL;
    replay *r = calloc(1, sizeof *r);
    if (!r)
        return tt__fail_memory(sizeof *r);
    r->base.ops = &replay_ops;
    r->should_stop = should_stop;
    r->user = user;
    tt_status status = tt__recording_open_t4(&r->recording, path, foreign);
    if (status != TT_OK) {
        free(r);
        return status;
    }
    *out = &r->base;
    return TT_OK;
}
