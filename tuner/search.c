/*
 * Searches one problem: lists the configurations, takes over stored trials, asks the strategy, stores new
 * trials.
 */
#include <math.h>
#include <stdlib.h>

#include "base/clean.h"
#include "base/clock.h"
#include "tuner/ahead.h"
#include "tuner/elections.h"
#include "tuner/finals.h"
#include "tuner/tune.h"
#include "tuner/widen.h"

/* Screening stops early for configurations that cannot be the best, whatever the noise. */
static const double hopeless = 1.25;

/* Configurations that are missing from a recording do not count. */
size_t tt__search_counted(const tt__search *search) {
    return search->n_tried - search->n_skipped - search->n_aside;
}

void tt__trial_weigh(tt__trial *trial, double weight) {
    trial->time_us *= weight;
    for (int i = 0; i < trial->n_samples; i++)
        trial->samples_us[i] = (float)((double)trial->samples_us[i] * weight);
}

/* A search compares only weighed times, so these are kept. */
static void keep(tt__search *search, size_t i, const tt__trial *measured) {
    tt__trial weighed = *measured, *trial = &weighed;
    if (search->t->operation->objective >= 0)
        tt__trial_weigh(trial, search->space.items[i].weight);
    search->trials[i] = *trial;
    search->known[i] = TT__TRIED;
    search->n_tried++;
    search->n_skipped += trial->status == TT__TRIAL_SKIPPED;
    search->n_failed += trial->status != TT__TRIAL_OK && trial->status != TT__TRIAL_SKIPPED;
    if (trial->status != TT__TRIAL_OK)
        return;
    double best_us = search->best == TT__NOTHING ? INFINITY : search->trials[search->best].time_us;
    bool first = (int64_t)i <
                 search->best; /* of two equally fast ones, the first in the space, in any order of trials */
    if (trial->time_us < best_us || (trial->time_us <= best_us && first))
        search->best = (int64_t)i;
}

/* ---- Stored trials ------------------------------------------------------------------------------------- */

typedef struct takeover {
    tt__search *search;
    const tt__gpu *gpu;
    bool replay;
    bool collects;   /* in a first pass: */
    tt__space found; /* what a sampled space may lack */
    size_t at;       /* where the last one was found; rows have nearly the order of the space */
} takeover;

static tt_status collect(takeover *t, const tt__trial_row *row) {
    const tt__template *of = NULL;
    tt__candidate c;
    for (size_t i = 0; i < t->search->space.n && !of; i = tt__strategy_end_of_template(&t->search->space, i))
        of = strcmp(t->search->space.items[i].t->hash, row->hash) == 0 ? t->search->space.items[i].t : NULL;
    tt_status status =
        of ? tt__space_resolve(&c, of, t->gpu, &t->search->problem, row->config) : TT_E_INVALID;
    if (status != TT_OK)
        return status == TT_E_UNSUPPORTED || status == TT_E_INVALID ? TT_OK : status;
    return tt__space_append(&t->found, &c);
}

static tt_status take_over(void *user, const tt__trial_row *row) {
    takeover *t = user;
    const tt__space *space = &t->search->space;
    if (!t->replay && strcmp(row->source, "replayed") == 0)
        return TT_OK; /* of another machine, and no evidence for this one */
    if (t->collects)
        return collect(t, row);
    for (size_t k = 0; k < space->n; k++) {
        size_t i = (t->at + k) % space->n;
        const tt__candidate *c = &space->items[i];
        if (strcmp(c->config, row->config) || strcmp(c->t->kernel, row->kernel) ||
            strcmp(c->t->hash, row->hash))
            continue;
        if (t->search->known[i] == TT__UNTRIED)
            keep(t->search, i, row->trial);
        t->at = i + 1;
        break;
    }
    return TT_OK;
}

/* Was a configuration of this template, in [first, end), tried, or is one in flight? */
static bool has_competed(const tt__search *search, size_t first, size_t end) {
    while (first < end && search->known[first] == TT__UNTRIED)
        first++;
    return first < end;
}

/* Counts the templates for the problem, and those that have not competed. */
static size_t count_templates(const tt__search *search, size_t *n_left_out) {
    size_t n = 0;
    *n_left_out = 0;
    for (size_t i = 0, end; i < search->space.n; i = end, n++) {
        end = tt__strategy_end_of_template(&search->space, i);
        *n_left_out += !has_competed(search, i, end);
    }
    return n;
}

/* Stored trials count towards the effort. Templates without stored trials (new, or left out by `only`) still
 * get their share. A small effort is not shared. */
static void set_aside(tt__search *search, size_t most) {
    size_t n_left_out, n = count_templates(search, &n_left_out);
    if (most == SIZE_MAX || n_left_out == 0 || most < 2 * n)
        return;
    size_t share = (size_t)((double)most * (double)(n - n_left_out) / (double)n);
    if (tt__search_counted(search) > share)
        search->n_aside = tt__search_counted(search) - share;
}

/* ---- Trying -------------------------------------------------------------------------------------------- */

static tt_status submit(tt__session *s, tt__search *search, size_t i) {
    bool timed =
        search->t->operation->objective < 0; /* for other objectives a slow one may still be the best */
    double cutoff =
        search->best == TT__NOTHING || !timed ? 0 : hopeless * search->trials[search->best].time_us;
    TT_TRY(s->backend->ops->submit(s->backend, i, &search->space.items[i], cutoff));
    search->known[i] = TT__PENDING;
    return TT_OK;
}

static tt_status take_one(tt__session *s, tt__search *search) {
    tt__trial trial;
    size_t i;
    TT_TRY(s->backend->ops->wait(s->backend, &i, &trial));
    while (i == TT__NO_TRIAL) {
        TT_TRY(tt__elections_go_on(s));
        TT_TRY(s->backend->ops->wait(s->backend, &i, &trial));
    }
    trial.weight = search->space.items[i].weight;
    TT_TRY(tt__session_store(s, search->problem_id, &search->space.items[i], TT__STAGE_SCREEN, &trial));
    keep(search, i, &trial);
    search->n_measured++;
    search->compile_s += trial.compile_ms * 1e-3;
    return TT_OK;
}

/* ---- What the strategy wants, as far as the limits go -------------------------------------------------- */

double tt__search_best_us(const tt__search *search) {
    size_t best = (size_t)search->best;
    return search->best == TT__NOTHING ? 0 : search->trials[best].time_us / search->space.items[best].weight;
}

/* A strategy that is running. */
typedef struct hunt {
    const tt__strategy *strategy;
    void *self;
    tt__view view;
    double started_s, first_s; /* first_s: of the first result */
    size_t n_pending;
    size_t until; /* this round ends with so many trials */
} hunt;

/* Is there time for one more trial, for those in flight, and for the finals? */
static bool in_time(tt__search *search, const hunt *h) {
    if (isinf(search->limits.deadline_s))
        return true;
    double now = tt__now_s(), n = (double)search->n_measured;
    /* The first result comes late, because compilers have only begun. */
    double pace = n > 1 ? (now - h->first_s) / (n - 1) : n > 0 ? now - h->started_s : 0;
    double compile_s = n > 0 ? search->compile_s / n : 0;
    search->pace_s = pace;
    enum { FINALS_IN_TRIALS = 4 }; /* at least, because launches may take longer than their times */
    double finals_s;
    tt__finals_contenders(search, &finals_s);
    finals_s = search->limits.finals_s > 0 ? fmax(finals_s, FINALS_IN_TRIALS * pace) : 0;
    double trials_s = fmax(pace * (double)(h->n_pending + 1), compile_s);
    return now + trials_s + finals_s < search->limits.deadline_s;
}

/* The number of trials allowed, as far as it is known now. */
static size_t most_trials(const tt__search *search) {
    const tt__limits *limits = &search->limits;
    if (search->space.n <= limits->whole)
        return limits->whole;
    bool is_short = search->best != TT__NOTHING && tt__search_best_us(search) < TT__SHORT_US;
    return is_short && limits->trials_if_short ? limits->trials_if_short : limits->trials;
}

size_t tt__search_left(const tt__search *search) {
    size_t known = tt__search_counted(search), most = most_trials(search);
    return search->n_tried < search->space.n && known < most ? most - known : 0;
}

static void set_wanted(tt__search *search) {
    size_t most = most_trials(search), known = tt__search_counted(search),
           all = search->space.n - search->n_aside;
    search->wanted = most < all ? most : all;
    search->wanted = search->wanted > known ? search->wanted : known;
}

/* Trials reserved for templates that the strategy has not named: one each, at most half of the effort. */
static size_t n_kept(const tt__search *search) {
    size_t n_left_out;
    if (most_trials(search) >= search->space.n)
        return 0;
    count_templates(search, &n_left_out);
    return n_left_out < most_trials(search) / 2 ? n_left_out : most_trials(search) / 2;
}

/* How many more trials the strategy may name. */
static size_t nameable(const tt__search *search, const hunt *h) {
    size_t left = tt__search_left(search), taken = h->n_pending + n_kept(search),
           named = search->n_tried + h->n_pending;
    size_t round = h->until > named ? h->until - named : 0;
    left = left > taken ? left - taken : 0;
    return left < round ? left : round;
}

/* Each GPU more has a trial, and the next one, in flight. */
static size_t window(const tt__session *s, const tt__search *search, const hunt *h) {
    size_t one = tt__strategy_window(h->strategy, search->n_tried), more = 2 * (s->n_gpus - 1);
    return one < SIZE_MAX - more ? one + more : one;
}

/* Submits configurations from the strategy while the backend has room and the strategy names any. */
static tt_status refill(tt__session *s, tt__search *search, hunt *h) {
    while (s->backend->ops->room(s->backend) > 0 && h->n_pending < window(s, search, h) &&
           nameable(search, h) > 0 && search->n_tried + h->n_pending < search->space.n) {
        int64_t i;
        if ((search->cut = !in_time(search, h)))
            break;
        TT_TRY(h->strategy->next(&i, h->self, &h->view));
        if (i == TT__NOTHING)
            break;
        TT_TRY(submit(s, search, (size_t)i));
        h->n_pending++;
    }
    return TT_OK;
}

/* A budget is not over before the default has been tried. With a cost model, a better one comes first. */
static tt_status try_default(tt__session *s, tt__search *search, hunt *h) {
    if (isinf(search->limits.deadline_s) || search->n_tried > 0 || search->space.n == 0 ||
        search->t->operation->moves)
        return TT_OK;
    h->n_pending++;
    return submit(s, search, 0);
}

static tt_status try_all(tt__session *s, tt__search *search, const char *phase, hunt *h) {
    TT_TRY(try_default(s, search, h));
    for (;;) {
        TT_TRY(refill(s, search, h));
        TT_TRY(tt__ahead_of_strategy(s->ahead, search, h->strategy, h->self, &h->view,
                                     search->cut ? 0 : nameable(search, h)));
        if (h->n_pending == 0)
            return TT_OK;
        TT_TRY(take_one(s, search));
        h->n_pending--;
        if (search->n_measured == 1)
            h->first_s = tt__now_s();
        set_wanted(search);
        tt__session_progress(s, search, phase);
    }
}

/* Tries each template once that the strategy never named. All templates have then competed, and running the
 * same effort again measures nothing. */
static tt_status try_the_rest(tt__session *s, tt__search *search, hunt *h) {
    for (size_t i = 0, end; i < search->space.n && !search->cut; i = end) {
        end = tt__strategy_end_of_template(&search->space, i);
        if (has_competed(search, i, end) || tt__search_counted(search) + h->n_pending >= most_trials(search))
            continue;
        for (; s->backend->ops->room(s->backend) == 0; h->n_pending--)
            TT_TRY(take_one(s, search));
        search->cut = !in_time(search, h);
        if (search->cut)
            break;
        TT_TRY(submit(s, search, i));
        h->n_pending++;
    }
    for (; h->n_pending > 0; h->n_pending--)
        TT_TRY(take_one(s, search));
    return TT_OK;
}

bool tt__search_wants_all(const tt__session *s, const tt__search *search) {
    return (!s->strategy || s->strategy == &tt__strategy_exhaustive) &&
           most_trials(search) >= search->space.n && isinf(search->limits.deadline_s);
}

/* If everything will be tried, the order does not matter. The order of the space shares most cubins. */
static const tt__strategy *choose(const tt__session *s, const tt__search *search) {
    if (s->strategy)
        return s->strategy;
    return tt__search_wants_all(s, search) ? &tt__strategy_exhaustive : &tt__strategy_surrogate;
}

/* Searches the space as it is now. */
static tt_status search_round(tt__session *s, tt__search *search, const char *phase, hunt *h) {
    tt__points points;
    tt__cost_model model = {0};
    tt__warm_starts starts;
    tt__priors priors = {0};
    const tt__elsewhere elsewhere = {s->store, &s->elsewhere, &s->gpu, &s->env, s->gpu_id, s->run_id};
    tt_status status;
    h->self = NULL;
    TT_GOTO(tt__points_open(&points, &search->space));
    TT_GOTO(tt__cost_model_open(&model, &search->space, &s->gpu, &search->problem, &points, NULL));
    TT_GOTO(tt__warm_starts_find(&starts, &priors, &elsewhere, &search->problem, &search->space, &model));
    h->view = (tt__view){.space = &search->space,
                         .points = &points,
                         .model = &model,
                         .known = search->known,
                         .trials = search->trials,
                         .starts = starts.at,
                         .n_starts = starts.n,
                         .priors = &priors,
                         .hurried = isfinite(search->limits.deadline_s)};
    TT_GOTO(h->strategy->open(&h->self, &h->view, s->opts->seed));
    TT_GOTO(try_all(s, search, phase, h));
out:
    h->strategy->close(h->self);
    tt__priors_free(&priors);
    tt__cost_model_close(&model);
    tt__points_close(&points);
    return status;
}

/* A sampled space is widened after each round. The next one begins when there are half as many trials more.
 */
static tt_status search_on(tt__session *s, tt__search *search, const char *phase) {
    enum { FIRST_ROUND = 32 };
    hunt h = {.strategy = choose(s, search), .started_s = tt__now_s(), .until = SIZE_MAX};
    h.first_s = h.started_s;
    bool again = search->space.sampled;
    if (again)
        h.until = search->n_tried > FIRST_ROUND ? search->n_tried : FIRST_ROUND;
    do {
        TT_TRY(search_round(s, search, phase, &h));
        again = search->space.sampled && search->n_tried >= h.until && tt__search_left(search) > 0 &&
                !search->cut;
        h.until += h.until / 2;
        if (again)
            TT_TRY(tt__search_widen(search, &s->gpu));
    } while (again);
    return try_the_rest(s, search, &h);
}

/* The stored winner competes even if opts->only leaves its kernel out, so that a worse one cannot replace
 * it. */
static tt_status add_incumbent(tt__session *s, tt__search *search) {
    tt__winner w;
    bool found;
    TT_TRY(tt__store_winner_get(s->store, s->gpu_id, search->problem_id, &w, &found));
    const tt__template *t = found ? tt__template_set_find(s->templates, w.kernel) : NULL;
    if (!t || strcmp(t->hash, w.hash) != 0 ||
        tt__template_competes(s->templates, t, s->opts->only, s->opts->n_only))
        return TT_OK;
    tt__candidate c;
    tt_status status = tt__space_resolve(&c, t, &s->gpu, &search->problem, w.config);
    if (status == TT_OK)
        status = tt__space_append(&search->space, &c);
    return status == TT_E_UNSUPPORTED ? TT_OK : status;
}

static tt_status enumerate(tt__session *s, tt__search *search) {
    for (size_t i = 0; i < s->templates->n; i++)
        if (tt__template_competes(s->templates, s->templates->items[i], s->opts->only, s->opts->n_only))
            TT_TRY(tt__space_add(&search->space, s->templates->items[i], &s->gpu, &search->problem));
    if (s->opts->n_only && search->problem_id)
        TT_TRY(add_incumbent(s, search));
    search->default_weight = search->space.n ? search->space.items[0].weight : 1;
    for (size_t i = 0; i < search->space.n; i++)
        search->space.items[i].weight /= search->default_weight; /* the default's time has weight 1 */
    TT_TRY(tt__part_keep(&search->part, &search->problem, &search->space));
    size_t n = search->space.n ? search->space.n : 1;
    search->known = calloc(n, sizeof *search->known);
    search->trials = calloc(n, sizeof *search->trials);
    return search->known && search->trials ? TT_OK : tt__fail_memory(n * sizeof *search->trials);
}

static tt_status take_over_all(tt__session *s, tt__search *search) {
    takeover t = {.search = search, .gpu = &s->gpu, .replay = s->opts->replay != NULL};
    tt_status status = TT_OK;
    for (int pass = search->space.sampled ? 0 : 1; pass < 2; pass++) {
        t.collects = pass == 0;
        TT_GOTO(tt__store_trials(s->store, s->gpu_id, &s->env, search->problem_id, TT__STAGE_SCREEN,
                                 take_over, &t));
        if (t.collects)
            TT_GOTO(tt__search_insert(search, &t.found));
    }
out:
    tt__space_free(&t.found);
    return status;
}

/* A sample cannot be tried whole. */
static tt_status check_size(const tt__search *search) {
    if (!search->space.sampled || search->limits.trials != SIZE_MAX)
        return TT_OK;
    return tt__fail(
        TT_E_INVALID,
        "%s has about %.2g legal configurations, too many to try all: choose another effort, or limit "
        "the trials",
        search->t->kernel, search->space.legal);
}

tt_status tt__search_open(tt__session *s, const tt__problem *p, const tt__limits *limits, tt__search *out) {
    *out = (tt__search){.problem = *p, .limits = *limits, .part = s->call->part, .best = TT__NOTHING};
    out->t = tt__template_set_for(s->templates, p);
    if (!out->t)
        return tt__fail(TT_E_UNSUPPORTED, "no kernel template does %s", p->op);
    if (!s->presumed)
        TT_TRY(tt__store_problem(s->store, p, &out->problem_id));
    TT_TRY(enumerate(s, out));
    if (!s->opts->force && !s->presumed)
        TT_TRY(take_over_all(s, out));
    set_aside(out, most_trials(out));
    set_wanted(out);
    return TT_OK;
}

tt_status tt__search_run(tt__session *s, tt__search *search, const char *phase) {
    TT_TRY(s->backend->ops->problem(s->backend, &search->problem, search->t));
    tt__session_progress(s, search, phase);
    if (tt__search_left(search) == 0)
        return TT_OK;
    TT_TRY(check_size(search));
    if (s->backend->ops->prepare)
        TT_TRY(s->backend->ops->prepare(s->backend)); /* in parallel with planning the search */
    return search_on(s, search, phase);
}

tt_status tt__search_try(tt__session *s, tt__search *search, size_t index) {
    if (search->known[index] != TT__UNTRIED)
        return TT_OK;
    TT_TRY(submit(s, search, index));
    return take_one(s, search);
}

void tt__search_close(tt__search *search) {
    tt__space_free(&search->space);
    free(search->known);
    free(search->trials);
    *search = (tt__search){.best = TT__NOTHING};
}
