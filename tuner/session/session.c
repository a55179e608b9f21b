/*
 * The messages of a run to its caller, and the entries of its timeline.
 */
#include "tuner/session/session.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/clean.h"
#include "base/clock.h"
#include "base/number.h"
#include "kernel/load/builtin.h"
#include "kernel/space/problem_text.h"
#include "tuner/run/tune.h"

void tt__session_message(const tt__session *s, const char *fmt, ...) {
    char line[1024];
    va_list args;
    if (!s->opts->on_message)
        return;
    va_start(args, fmt);
    tt__vformat(line, sizeof line, fmt, args);
    va_end(args);
    tt__clean(line, TT__CLEAN_TEXT);
    s->opts->on_message(s->opts->user, line);
}

void tt__session_phase(const tt__session *s, const char *name, const tt__problem *p, double *since_s) {
    char size[TT__PROBLEM_TEXT_MAX];
    double now_s = tt__now_s();
    tt__problem_text(size, p);
    tt__trace_span(s->trace, &(tt__span){0, name, *since_s, now_s, p->op, size, NULL});
    *since_s = now_s;
}

/* Assumes that a search goes on as it went, and that later problems take as long as those so far. The time
 * before, as of the copy's search, says nothing about this search. */
static double eta(const tt__session *s, const tt__search *search) {
    const double now_s = tt__now_s(), ended = (double)(s->kind * s->n_problems + s->n_ended);
    const double later = (double)(s->n_kinds * s->n_problems) - ended - 1;
    const double left = fmax((double)search->wanted - (double)tt__search_counted(search), 0);
    const double here_s = (now_s - search->began_s) * left / (double)search->n_measured;
    return search->n_measured > 0 ? here_s + later * (now_s + here_s - s->started_s) / (ended + 1) : -1;
}

void tt__session_progress(const tt__session *s, const tt__search *search, const char *phase) {
    char text[TT__PROBLEM_TEXT_MAX];
    if (!s->opts->on_progress || s->in_background)
        return;
    const tt__problem *p = &s->call->problems[s->at_problem]; /* also while its copy is searched */
    tt_progress progress = {
        .problem = s->at_problem,
        .n_problems = s->n_problems,
        .rows = tt__problem_number(p, "rows", 0),
        .cols = tt__problem_number(p, "cols", 0),
        .text = tt__problem_text(text, p),
        .phase = phase,
        .done = tt__search_counted(search),
        .total = search->wanted > tt__search_counted(search) ? search->wanted : tt__search_counted(search),
        .failed = search->n_failed,
        .best_config = "",
        .eta_s = eta(s, search),
    };
    if (search->best != TT__NOTHING) {
        const tt__candidate *best = &search->space.items[search->best];
        progress.best_us = search->trials[search->best].time_us / best->weight;
        progress.best_config = best->config;
    }
    s->opts->on_progress(s->opts->user, &progress);
}

tt_status tt__session_store(const tt__session *s, int64_t problem_id, const tt__candidate *c, tt__stage stage,
                            const tt__trial *trial) {
    int64_t id;
    TT_TRY(tt__store_config(s->store, c->t->kernel, c->t->op, c->t->hash, c->config, &id));
    return tt__store_trial_put(s->store, s->run_id, problem_id, id, stage, trial);
}
