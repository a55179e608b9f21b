/* Searching one problem: enumerate, take over what is stored, ask the strategy, commit what comes back. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "tuner/session.h"

/* Screening ends early for what is so much slower than the best that no noise explains it. */
static const double hopeless = 1.25;

void tt__session_message(const tt__session *s, const char *fmt, ...) {
    char line[1024];
    va_list args;
    if (!s->opts->on_message)
        return;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    s->opts->on_message(s->opts->user, line);
}

/* Assumes that what is left goes like what was done; the copy is small beside the transpose. */
static double eta(const tt__session *s, const tt__search *search) {
    double elapsed = tt__now_s() - s->started_s;
    double total = (double)search->space.n * (double)s->n_problems;
    double done = (double)search->space.n * (double)s->at_problem + (double)search->n_tried;
    return done > 0 && search->n_measured > 0 ? elapsed * (total - done) / done : -1;
}

void tt__session_progress(const tt__session *s, const tt__search *search, const char *phase) {
    if (!s->opts->on_progress)
        return;
    tt_progress p = {
        .problem = s->at_problem,
        .n_problems = s->n_problems,
        .rows = search->problem.rows,
        .cols = search->problem.cols,
        .phase = phase,
        .done = search->n_tried,
        .total = search->space.n,
        .failed = search->n_failed,
        .best_config = "",
        .eta_s = eta(s, search),
    };
    if (search->best != TT__NOTHING) {
        p.best_us = search->trials[search->best].time_us;
        p.best_config = search->space.items[search->best].config;
    }
    s->opts->on_progress(s->opts->user, &p);
}

static void keep(tt__search *search, size_t i, const tt__trial *trial) {
    search->trials[i] = *trial;
    search->known[i] = TT__TRIED;
    search->n_tried++;
    search->n_failed += trial->status != TT__TRIAL_OK && trial->status != TT__TRIAL_SKIPPED;
    if (trial->status == TT__TRIAL_OK &&
        (search->best == TT__NOTHING || trial->time_us < search->trials[search->best].time_us))
        search->best = (int64_t)i;
}

/* ---- Stored trials -------------------------------------------------------------------------------------- */

typedef struct takeover {
    tt__search *search;
    bool replay;
    size_t at; /* where the last one was found: rows come about in the order of the space */
} takeover;

static tt_status take_over(void *user, const tt__trial_row *row) {
    takeover *t = user;
    const tt__space *space = &t->search->space;
    if (!t->replay && strcmp(row->source, "replayed") == 0)
        return TT_OK; /* of another machine: no evidence for this one */
    for (size_t k = 0; k < space->n; k++) {
        size_t i = (t->at + k) % space->n;
        const tt__candidate *c = &space->items[i];
        if (strcmp(c->config, row->config) || strcmp(c->t->kernel, row->kernel) || strcmp(c->t->hash, row->hash))
            continue;
        if (t->search->known[i] == TT__UNTRIED)
            keep(t->search, i, row->trial);
        t->at = i + 1;
        break;
    }
    return TT_OK;
}

/* ---- Trying --------------------------------------------------------------------------------------------- */

static tt_status commit(tt__session *s, tt__search *search, size_t i, const tt__trial *trial) {
    const tt__candidate *c = &search->space.items[i];
    int64_t config_id;
    TT_TRY(tt__store_config(s->store, c->t->kernel, c->t->op, c->t->hash, c->config, &config_id));
    TT_TRY(tt__store_trial_put(s->store, s->run_id, search->problem_id, config_id, TT__STAGE_SCREEN, trial));
    keep(search, i, trial);
    search->n_measured++;
    s->trials_measured++;
    return TT_OK;
}

/* Submits what the strategy names, while the backend has room. */
static tt_status refill(tt__session *s, tt__search *search, void *strategy, size_t *pending) {
    const tt__view view = {.space = &search->space, .known = search->known, .trials = search->trials};
    while (s->backend->ops->room(s->backend) > 0) {
        int64_t i;
        TT_TRY(s->strategy->next(&i, strategy, &view));
        if (i == TT__NOTHING)
            break;
        double cutoff = search->best == TT__NOTHING ? 0 : hopeless * search->trials[search->best].time_us;
        TT_TRY(s->backend->ops->submit(s->backend, (size_t)i, &search->space.items[i], cutoff));
        search->known[i] = TT__PENDING;
        (*pending)++;
    }
    return TT_OK;
}

static tt_status try_all(tt__session *s, tt__search *search, const char *phase, void *strategy) {
    size_t pending = 0;
    tt__trial trial;
    for (;;) {
        size_t i;
        TT_TRY(refill(s, search, strategy, &pending));
        if (pending == 0)
            return TT_OK;
        TT_TRY(s->backend->ops->wait(s->backend, &i, &trial));
        pending--;
        TT_TRY(commit(s, search, i, &trial));
        tt__session_progress(s, search, phase);
    }
}

static tt_status enumerate(tt__session *s, tt__search *search) {
    for (size_t i = 0; i < s->templates->n; i++)
        TT_TRY(tt__space_add(&search->space, s->templates->items[i], &s->gpu, &search->problem));
    size_t n = search->space.n ? search->space.n : 1;
    search->known = calloc(n, sizeof *search->known);
    search->trials = calloc(n, sizeof *search->trials);
    return search->known && search->trials ? TT_OK : tt__fail_memory(n * sizeof *search->trials);
}

tt_status tt__search_run(tt__session *s, const tt__problem *p, const char *phase, tt__search *out) {
    *out = (tt__search){.problem = *p, .best = TT__NOTHING};
    TT_TRY(enumerate(s, out));
    TT_TRY(tt__store_problem(s->store, p, &out->problem_id));
    if (!s->opts->force) {
        takeover t = {.search = out, .replay = s->opts->replay != NULL};
        TT_TRY(tt__store_trials(s->store, s->gpu_id, &s->env, out->problem_id, TT__STAGE_SCREEN, take_over, &t));
    }
    TT_TRY(s->backend->ops->problem(s->backend, p));
    tt__session_progress(s, out, phase);
    if (out->n_tried == out->space.n)
        return TT_OK;
    void *strategy;
    const tt__view view = {.space = &out->space, .known = out->known, .trials = out->trials};
    TT_TRY(s->strategy->open(&strategy, &view, 0));
    tt_status status = try_all(s, out, phase, strategy);
    s->strategy->close(strategy);
    return status;
}

void tt__search_close(tt__search *search) {
    tt__space_free(&search->space);
    free(search->known);
    free(search->trials);
    *search = (tt__search){.best = TT__NOTHING};
}
