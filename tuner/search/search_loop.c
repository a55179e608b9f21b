/*
 * Keeps a search under way.
 */
#include "tuner/search/search_loop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernel/space/operation.h"
#include "kernel/space/space.h"
#include "tuner/strategy/strategy.h"

/* ---- What is known before the first trial ----------------------------------------------------------------
 */

/* Another GPU, even a related one, counts as further away than any other size on this GPU. */
static const double same_cc = 100, any_gpu = 200;
enum { SOURCES_MAX = 8, OF_EACH = 3 };

/* INFINITY: it says nothing about this problem. An older text of a user's kernel may say something. */
static double distance(const tt__winner *w, const tt__gpu *gpu, const tt__operation *op,
                       const tt__problem *p) {
    bool alike;
    if (strcmp(w->problem.op, p->op) != 0 || !tt__problem_same_regime(&w->problem, p))
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
    int64_t at = tt__space_member(f->space, row->kernel, row->config); /* takes long */
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
    size_t at;        /* of tt__space_next_member */
} reader;

static tt_status read_time(void *user, const tt__trial_row *row) {
    reader *r = user;
    if (row->run_id >= r->run_id)
        return TT_OK;
    const int64_t i = tt__space_next_member(r->space, row->kernel, row->config, &r->at);
    const tt__configuration *c = i == TT__NOTHING ? NULL : &r->space->items[i];
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
    const int64_t now =
        from->answer ? tt__space_member(space, from->answer->kernel, from->answer->config) : TT__NOTHING;
    if (now != TT__NOTHING)
        add(out, (size_t)now);
    const tt__operation *op = space->items[0].t->operation;
    size_t n = nearest(sources, from, op, p);
    for (size_t i = 0; i < n; i++) {
        bool is_prior = false, here = distance(sources[i], from->gpu, op, p) < same_cc;
        if (!op->moves)
            TT_TRY(add_prior(priors, &is_prior, from, sources[i], p, space, m));
        int64_t at =
            here || !is_prior ? tt__space_member(space, sources[i]->kernel, sources[i]->config) : TT__NOTHING;
        if (at != TT__NOTHING)
            add(out, (size_t)at);
    }
    for (size_t i = 0; i < n; i++)
        TT_TRY(add_trials(&f, from->store, from->gpu_id, sources[i]));
    return TT_OK;
}

tt_status tt__search_loop_starts(const tt__session *s, const tt__search *search, const tt__cost_model *m,
                                 tt__warm_starts *out, tt__priors *priors) {
    const tt__elsewhere elsewhere = {s->store,  &s->elsewhere,        &s->gpu, &s->env, s->gpu_id,
                                     s->run_id, tt__session_answer(s)};
    return tt__warm_starts_find(out, priors, &elsewhere, &search->problem, &search->space, m);
}

/* ---- What the strategy wants, as far as the limits go -------------------------------------------------- */

/* How long the finals may take, with a budget. */
static double finals_s(const tt__search *search) {
    enum { FINALS_IN_TRIALS = 4 }; /* launches may take longer than their times */
    const double part_s = search->limits.finals_s;
    double expected_s;
    if (part_s <= 0 || search->best == TT__NOTHING)
        return 0;
    tt__schedule_contenders(search, &expected_s);
    return fmin(fmax(expected_s, FINALS_IN_TRIALS * search->pace_s), part_s);
}

/* The finals do not wait for requests that have not reached a GPU, unless there is no result or no default
 * (try_default). */
static void set_end(tt__session *s, const tt__search_loop *u) {
    const tt__search *search = u->search;
    const bool known = search->n_measured > 0 || search->best != TT__NOTHING,
               awaits_default = u->wants_default && search->known[0] == TT__PENDING;
    double end_s = INFINITY;
    if (!s->backend->ops->await_until)
        return;
    if (u->stage != TT__SEARCH_OVER && known && !awaits_default)
        end_s = search->limits.deadline_s - finals_s(search);
    s->backend->ops->await_until(s->backend, end_s);
}

/* Is there time for one more trial, for those in flight if they are awaited, and for the finals? */
static bool in_time(const tt__session *s, tt__search *search, const tt__search_loop *u) {
    if (isinf(search->limits.deadline_s))
        return true;
    if (search->n_measured + u->n_pending == 0 &&
        search->best == TT__NOTHING) /* what came before took longer */
        return tt__now_s() < s->end_s;
    double now = tt__now_s(), n = (double)search->n_measured;
    /* The first result comes late, because compilers have only begun. */
    double pace = n > 1 ? (now - u->first_s) / (n - 1) : n > 0 ? now - search->began_s : 0;
    double compile_s = n > 0 ? search->compile_s / n : 0;
    search->pace_s = pace;
    double trials_s =
        s->backend->ops->await_until ? pace : fmax(pace * (double)(u->n_pending + 1), compile_s);
    return now + trials_s + finals_s(search) < search->limits.deadline_s;
}

/* Trials reserved for templates that the strategy has not named: one each, at most half of the effort. */
static size_t n_kept(const tt__search *search) {
    size_t n_left_out;
    if (tt__search_most(search) >= search->space.n)
        return 0;
    tt__search_templates(search, &n_left_out);
    return n_left_out < tt__search_most(search) / 2 ? n_left_out : tt__search_most(search) / 2;
}

/* How many more trials the strategy may name. */
static size_t nameable(const tt__search *search, const tt__search_loop *u) {
    size_t left = tt__search_left(search), taken = u->n_pending + n_kept(search),
           named = search->n_tried + u->n_pending;
    size_t round = u->until > named ? u->until - named : 0;
    left = left > taken ? left - taken : 0;
    return left < round ? left : round;
}

/* Each GPU more has a trial, and the next one, in flight. Problems under way share the GPUs. */
static size_t window(const tt__session *s, const tt__search_loop *u) {
    const tt__backend_ops *ops = s->backend->ops;
    const size_t one = tt__strategy_window(u->strategy, &u->view, u->search->n_tried,
                                           ops->compilers ? ops->compilers(s->backend) : 0),
                 more = 2 * (s->n_gpus - 1) / (s->n_lanes ? s->n_lanes : 1);
    return one < SIZE_MAX - more ? one + more : one;
}

/* Submits configurations from the strategy while the backend has room and the strategy names any. */
static tt_status refill(tt__session *s, tt__search *search, tt__search_loop *u) {
    while (s->backend->ops->room(s->backend) > 0 && u->n_pending < window(s, u) && nameable(search, u) > 0 &&
           search->n_tried + u->n_pending < search->space.n) {
        int64_t i;
        if ((search->cut = !in_time(s, search, u)))
            break;
        TT_TRY(u->strategy->next(&i, u->self, &u->view));
        if (i == TT__NOTHING)
            break;
        TT_TRY(tt__search_submit(s, search, (size_t)i));
        u->n_pending++;
    }
    return TT_OK;
}

/* A budget is not over before the default has been tried. With a cost model, a better one comes first. */
static tt_status try_default(tt__session *s, tt__search *search, tt__search_loop *u) {
    if (isinf(search->limits.deadline_s) || search->n_tried > 0 || search->space.n == 0 ||
        search->t->operation->moves)
        return TT_OK;
    u->n_pending++;
    u->wants_default = true;
    return tt__search_submit(s, search, 0);
}

/* The class of equal bits is known early, so that strategies look for it. */
static tt_status try_anchor(tt__session *s, tt__search *search, tt__search_loop *u) {
    const int64_t anchor = tt__search_anchor(s, search);
    if (anchor == TT__NOTHING || search->known[anchor] != TT__UNTRIED)
        return TT_OK;
    u->n_pending++;
    return tt__search_submit(s, search, (size_t)anchor);
}

static tt_status foresee(tt__session *s, const tt__search *search, const tt__strategy *strategy, void *self,
                         const tt__view *view, size_t most) {
    enum { LIKELY = 8 };
    const tt__configuration *c[LIKELY];
    size_t at[LIKELY];
    if (!s->expected || !strategy->likely)
        return TT_OK;
    size_t n = strategy->likely(at, most < LIKELY ? most : LIKELY, self, view);
    for (size_t i = 0; i < n; i++)
        c[i] = &search->space.items[at[i]];
    return tt__expected_soon(s->expected, c, n, &search->problem);
}

/* ---- Rounds -------------------------------------------------------------------------------------------- */

/* If everything will be tried, the order does not matter. The order of the space shares most cubins. */
static const tt__strategy *choose(const tt__session *s, const tt__search *search) {
    if (s->strategy)
        return s->strategy;
    return tt__search_wants_all(s, search) ? &tt__strategy_exhaustive : &tt__strategy_surrogate;
}

static void close_round(tt__search_loop *u) {
    if (u->view.space)
        u->strategy->close(u->self);
    u->self = NULL;
    u->view.space = NULL;
    tt__priors_free(&u->priors);
    tt__cost_model_close(&u->model);
}

/* Begins to search the space as it is now. */
static tt_status open_round(tt__session *s, tt__search_loop *u) {
    tt__search *search = u->search;
    TT_TRY(tt__cost_model_open(&u->model, &search->space, &s->gpu, &search->problem, NULL));
    TT_TRY(tt__search_loop_starts(s, search, &u->model, &u->starts, &u->priors));
    u->view = (tt__view){.space = &search->space,
                         .model = &u->model,
                         .known = search->known,
                         .trials = search->trials,
                         .starts = u->starts.at,
                         .n_starts = u->starts.n,
                         .priors = &u->priors,
                         .hurried = isfinite(search->limits.deadline_s),
                         .n_favourites = search->n_favourites};
    TT_TRY(u->strategy->open(&u->self, &u->view, s->opts->seed));
    TT_TRY(try_default(s, search, u));
    return try_anchor(s, search, u);
}

/* A sampled space is widened after each round, also if it has been tried whole. The next one begins when
 * there are half as many trials more. */
static tt_status end_round(tt__session *s, tt__search_loop *u) {
    tt__search *search = u->search;
    const bool reached = search->n_tried >= u->until;
    bool again = search->space.sampled && (reached || search->n_tried == search->space.n) &&
                 tt__search_left(search) > 0 && !search->cut;
    close_round(u);
    u->until += reached ? u->until / 2 : 0;
    if (again) {
        search->n_favourites = 0; /* those of this round are not compiled ahead */
        TT_TRY(tt__search_widen(search, &s->gpu));
        again = search->n_tried < search->space.n;
    }
    if (again)
        return open_round(s, u);
    u->stage = TT__SEARCH_REST;
    return TT_OK;
}

/* Tries each template once that the strategy never named. All templates have then competed, and running the
 * same effort again measures nothing. One of them may prove the problem short: then the search goes on. */
static tt_status try_the_rest(tt__session *s, tt__search_loop *u) {
    tt__search *search = u->search;
    while (u->rest < search->space.n && !search->cut && s->backend->ops->room(s->backend) > 0) {
        const size_t first = u->rest;
        u->rest = tt__space_end_of_template(&search->space, first);
        if (tt__search_competed(search, first, u->rest) ||
            tt__search_counted(search) + u->n_pending >= tt__search_most(search))
            continue;
        if ((search->cut = !in_time(s, search, u)))
            break;
        TT_TRY(tt__search_submit(s, search, first));
        u->n_pending++;
    }
    if (u->n_pending > 0)
        return TT_OK;
    const bool got_short = search->settled && tt__search_left(search) > 0 && !search->cut;
    u->stage = got_short ? TT__SEARCH_ROUND : TT__SEARCH_OVER;
    search->settled &= !got_short;
    return got_short ? open_round(s, u) : TT_OK;
}

tt_status tt__search_loop_feed(tt__session *s, tt__search_loop *u) {
    tt__search *search = u->search;
    while (u->stage != TT__SEARCH_OVER) {
        if (u->stage == TT__SEARCH_REST) {
            TT_TRY(try_the_rest(s, u));
        } else {
            TT_TRY(refill(s, search, u));
            TT_TRY(foresee(s, search, u->strategy, u->self, &u->view, search->cut ? 0 : nameable(search, u)));
            if (u->n_pending == 0)
                TT_TRY(end_round(s, u));
        }
        if (u->n_pending > 0)
            break;
    }
    set_end(s, u);
    return TT_OK;
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

tt_status tt__search_loop_begin(tt__session *s, tt__search *search, const char *phase, tt__search_loop *out) {
    enum { FIRST_ROUND = 32 };
    *out = (tt__search_loop){.search = search, .phase = phase, .stage = TT__SEARCH_OVER};
    TT_TRY(s->backend->ops->problem(s->backend, &search->problem, search->t));
    tt__search_progress(s, search, phase);
    if (tt__search_left(search) == 0)
        return TT_OK;
    TT_TRY(check_size(search));
    if (s->backend->ops->prepare)
        TT_TRY(s->backend->ops->prepare(s->backend)); /* in parallel with planning the search */
    out->stage = TT__SEARCH_ROUND;
    out->strategy = choose(s, search);
    search->began_s = out->first_s = tt__now_s();
    out->until = !search->space.sampled          ? SIZE_MAX
                 : search->n_tried > FIRST_ROUND ? search->n_tried
                                                 : FIRST_ROUND;
    TT_TRY(open_round(s, out));
    return tt__search_loop_feed(s, out);
}

tt_status tt__search_loop_take(tt__session *s, tt__search_loop *u, size_t index, tt__trial *trial) {
    const bool is_first = u->search->n_measured == 0;
    TT_TRY(tt__search_take(s, u->search, index, trial));
    if (u->search->known[index] == TT__PENDING) /* requested again */
        return TT_OK;
    u->n_pending--;
    if (is_first && u->search->n_measured == 1)
        u->first_s = tt__now_s();
    tt__search_aim(u->search);
    tt__search_progress(s, u->search, u->phase);
    return tt__search_loop_feed(s, u);
}

void tt__search_loop_end(tt__search_loop *u) {
    close_round(u);
    u->stage = TT__SEARCH_OVER;
}

tt_status tt__search_run(tt__session *s, tt__search *search, const char *phase) {
    tt__search_loop u;
    size_t id;
    tt__trial trial;
    tt_status status = tt__search_loop_begin(s, search, phase, &u);
    while (status == TT_OK && u.stage != TT__SEARCH_OVER) {
        status = s->backend->ops->wait(s->backend, &id, &trial);
        if (status == TT_OK)
            status = tt__search_loop_take(s, &u, id % TT__LANE_TRIALS, &trial);
    }
    tt__search_loop_end(&u);
    return status;
}
