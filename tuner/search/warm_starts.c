/*
 * Orders winners by the distance of their problem and GPU.
 */
#include "tuner/search/warm_starts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/space/operation.h"
#include "kernel/space/space.h"
#include "tuner/strategy/strategy.h"

/* Another GPU, even a related one, counts as further away than any other size on this GPU. */
static const double same_cc = 100, any_gpu = 200;
enum { SOURCES_MAX = 8, OF_EACH = 3 };

/* INFINITY: it says nothing about this problem. An older text of a user's kernel may say something. */
static double distance(const tt__winner *w, const tt__gpu *gpu, const tt__operation *op,
                       const tt__problem *p) {
    bool alike;
    if (strcmp(w->problem.op, p->op) != 0 || w->problem.warm != p->warm)
        return INFINITY;
    double far = tt__operation_distance(op, p, &w->problem, &alike);
    bool same = strcmp(w->gpu.name, gpu->name) == 0 && strcmp(w->gpu.mig, gpu->mig) == 0;
    return alike ? far + (same ? 0 : w->gpu.cc == gpu->cc ? same_cc : any_gpu) : INFINITY;
}

typedef struct finder {
    tt__warm_starts *out;
    const tt__space *space;
    int64_t run_id; /* trials of this run are ignored */
    size_t n;       /* the fastest trials of one problem, fastest first */
    size_t at[OF_EACH];
    double us[OF_EACH];
} finder;

static void add(tt__warm_starts *out, size_t at) {
    for (size_t i = 0; i < out->n; i++)
        if (out->at[i] == at)
            return;
    if (out->n < TT__WARM_STARTS_MAX)
        out->at[out->n++] = at;
}

static tt_status rank(void *user, const tt__trial_row *row) {
    finder *f = user;
    size_t k = f->n < OF_EACH ? f->n : OF_EACH - 1;
    double us = row->trial->time_us * row->trial->weight; /* 1 without an objective */
    bool slow = f->n == OF_EACH && us >= f->us[OF_EACH - 1];
    if (row->run_id >= f->run_id || row->trial->status != TT__TRIAL_OK || slow)
        return TT_OK;
    int64_t at = tt__strategy_member(f->space, row->kernel, row->config); /* takes long */
    if (at == TT__NOTHING)
        return TT_OK;
    for (; k > 0 && f->us[k - 1] > us; k--) {
        f->us[k] = f->us[k - 1];
        f->at[k] = f->at[k - 1];
    }
    f->us[k] = us;
    f->at[k] = (size_t)at;
    f->n += f->n < OF_EACH;
    return TT_OK;
}

/* Adds the fastest trials of a winner's problem on this GPU, from the winner's environment. */
static tt_status add_trials(finder *f, tt__store *store, int64_t gpu_id, const tt__winner *w) {
    int64_t problem_id;
    f->n = 0;
    TT_TRY(tt__store_known_problem(store, &w->problem, &problem_id));
    TT_TRY(tt__store_trials(store, gpu_id, &w->env, problem_id, TT__STAGE_SCREEN, rank, f));
    for (size_t i = 0; i < f->n; i++)
        add(f->out, f->at[i]);
    return TT_OK;
}

/* ---- Priors -------------------------------------------------------------------------------------------- */

typedef struct reader {
    const tt__space *space;
    int64_t run_id;
    bool own; /* of this problem, GPU and environment: a search takes these over, if the text is the same */
    double *times_us; /* for tt__priors_add */
    size_t at;        /* of tt__strategy_next_member */
} reader;

static tt_status read_time(void *user, const tt__trial_row *row) {
    reader *r = user;
    if (row->run_id >= r->run_id)
        return TT_OK;
    const int64_t i = tt__strategy_next_member(r->space, row->kernel, row->config, &r->at);
    const tt__candidate *c = i == TT__NOTHING ? NULL : &r->space->items[i];
    if (!c || (r->own && strcmp(c->t->hash, row->hash) == 0))
        return TT_OK;
    double us = row->trial->time_us * (c->t->operation->objective >= 0 ? c->weight : 1);
    r->times_us[i] = row->trial->status == TT__TRIAL_OK ? us : INFINITY;
    return TT_OK;
}

/* *is: the winner's trials became a prior. */
static tt_status add_prior(tt__priors *out, bool *is, const tt__elsewhere *from, const tt__winner *w,
                           const tt__problem *p, const tt__space *space, const tt__cost_model *m) {
    size_t before = out->n;
    int64_t gpu_id, problem_id;
    reader r = {.space = space, .run_id = from->run_id, .times_us = calloc(space->n, sizeof *r.times_us)};
    tt_status status = r.times_us ? TT_OK : tt__fail_memory(space->n * sizeof *r.times_us);
    if (status == TT_OK)
        status = tt__store_known_gpu(from->store, &w->gpu, &gpu_id);
    if (status == TT_OK)
        status = tt__store_known_problem(from->store, &w->problem, &problem_id);
    if (status == TT_OK) {
        r.own =
            gpu_id == from->gpu_id && tt__problem_same(&w->problem, p) && tt__same_env(&w->env, from->env);
        status = tt__store_trials(from->store, gpu_id, &w->env, problem_id, TT__STAGE_SCREEN, read_time, &r);
    }
    if (status == TT_OK)
        status = tt__priors_add(out, m, r.times_us);
    *is = out->n > before;
    free(r.times_us);
    return status;
}

/* ---- Both ---------------------------------------------------------------------------------------------- */

/* The nearest winners, nearest first. */
static size_t nearest(const tt__winner *sources[SOURCES_MAX], const tt__elsewhere *from,
                      const tt__operation *op, const tt__problem *p) {
    size_t n = 0;
    for (size_t i = 0; i < from->winners->n; i++) {
        const tt__winner *w = &from->winners->items[i];
        double far = distance(w, from->gpu, op, p);
        size_t k = n < SOURCES_MAX ? n : SOURCES_MAX - 1;
        if (isinf(far) || (n == SOURCES_MAX && far >= distance(sources[k], from->gpu, op, p)))
            continue;
        for (; k > 0 && distance(sources[k - 1], from->gpu, op, p) > far; k--)
            sources[k] = sources[k - 1];
        sources[k] = w;
        n += n < SOURCES_MAX;
    }
    return n;
}

tt_status tt__warm_starts_find(tt__warm_starts *out, tt__priors *priors, const tt__elsewhere *from,
                               const tt__problem *p, const tt__space *space, const tt__cost_model *m) {
    const tt__winner *sources[SOURCES_MAX];
    finder f = {.out = out, .space = space, .run_id = from->run_id};
    *out = (tt__warm_starts){0};
    if (space->n == 0)
        return TT_OK;
    const tt__operation *op = space->items[0].t->operation;
    size_t n = nearest(sources, from, op, p);
    for (size_t i = 0; i < n; i++) {
        bool is_prior = false, here = distance(sources[i], from->gpu, op, p) < same_cc;
        if (!op->moves)
            TT_TRY(add_prior(priors, &is_prior, from, sources[i], p, space, m));
        int64_t at = here || !is_prior ? tt__strategy_member(space, sources[i]->kernel, sources[i]->config)
                                       : TT__NOTHING;
        if (at != TT__NOTHING)
            add(out, (size_t)at);
    }
    for (size_t i = 0; i < n; i++)
        TT_TRY(add_trials(&f, from->store, from->gpu_id, sources[i]));
    return TT_OK;
}
