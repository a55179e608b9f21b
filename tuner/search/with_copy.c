/*
 * The two searches for a problem.
 */
#include "tuner/search/with_copy.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "dispatch/store_layers.h"
#include "kernel/space/operation.h"
#include "tuner/measure/energy.h"
#include "tuner/search/search_loop.h"
#include "tuner/strategy/strategy.h"

static tt__limits limits_of(const tt__session *s, double share) {
    tt__limits limits = tt__limits_of(s->opts, s->end_s, share);
    if (s->call->only_finals)
        limits.trials = limits.trials_if_short = limits.whole = 0;
    const double energy_s = tt__energy_wanted_s(), part_s = limits.deadline_s - tt__now_s();
    if (s->call->objective != TT__OBJECTIVE_TIME && s->backend->counts_energy && isfinite(part_s) &&
        part_s > 2 * energy_s) {
        limits.energy_s = energy_s;
        limits.deadline_s -= energy_s;
    }
    if (s->asks && s->opts->replay) /* it wants the recorded winner, in any order of trials */
        limits.patience = 0;
    return limits;
}

/* Compilers would be late for them. */
static tt_status expect_starts(tt__session *s, const tt__search *search, const tt__cost_model *model) {
    tt__warm_starts starts;
    tt__priors priors = {0};
    tt_status status = tt__search_loop_starts(s, search, model, &starts, &priors);
    for (size_t i = 0; i < starts.n && i < TT__STARTS_MODELLED && status == TT_OK; i++)
        if (search->known[starts.at[i]] == TT__UNTRIED)
            status = tt__expected_later(s->expected, &search->space.items[starts.at[i]], &search->problem);
    tt__priors_free(&priors);
    return status;
}

/* Expects the `most` untried configurations that are fastest by the model, and the default of the leading
 * template, which the finals need. */
static tt_status expect_best(tt__session *s, const tt__search *search, size_t most) {
    const tt__space *space = &search->space;
    tt__cost_model model = {0};
    size_t n, *order = NULL;
    tt_status status;
    TT_GOTO(tt__cost_model_open(&model, space, &s->gpu, &search->problem, NULL));
    if (tt__session_hurries(s) && !s->presumed)
        TT_GOTO(expect_starts(s, search, &model));
    TT_GOTO(tt__strategy_rank(&order, &n, space, search->known, &model));
    int64_t leading_default = n ? tt__space_default(space, order[0]) : TT__NOTHING;
    for (size_t i = 0; i < n; i++)
        if (i < most || (int64_t)order[i] == leading_default)
            TT_GOTO(tt__expected_later(s->expected, &space->items[order[i]], &search->problem));
out:
    free(order);
    tt__cost_model_close(&model);
    return status;
}

tt_status tt__with_copy_expect(tt__session *s, const tt__search *search) {
    size_t left = tt__search_left(search);
    if (!s->expected || left == 0)
        return TT_OK;
    const bool wants_all = tt__search_wants_all(s, search);
    if (!wants_all && s->strategy == &tt__strategy_random) /* the model does not know what it will name */
        return TT_OK;
    if (!wants_all)
        return expect_best(s, search, search->n_favourites ? search->n_favourites : left);
    for (size_t i = 0; i < search->space.n; i++)
        if (search->known[i] == TT__UNTRIED)
            TT_TRY(tt__expected_later(s->expected, &search->space.items[i], &search->problem));
    return TT_OK;
}

size_t tt__with_copy_favourites(const tt__session *s, const tt__search *search) {
    enum { FAVOURITES = 40, HURRIED = 4 }; /* of those after them, many are never tried */
    const size_t left = tt__search_left(search), most = tt__session_hurries(s) ? HURRIED : FAVOURITES;
    if (!search->t->operation->moves || (s->strategy && s->strategy != &tt__strategy_surrogate) ||
        tt__search_wants_all(s, search))
        return 0;
    return left < most ? left : most;
}

tt_status tt__with_copy_plan(tt__session *s, const tt__problem *p, double share, tt__with_copy *out) {
    const tt__limits limits = limits_of(s, share), of_copy = tt__limits_of_copy(&limits);
    tt__problem copy;
    *out = (tt__with_copy){.copy.best = TT__NOTHING, .search.best = TT__NOTHING};
    out->has_copy = !tt__session_hurries(s) && tt__problem_copy(&copy, p);
    TT_TRY(tt__search_open(s, p, &limits, &out->search));
    out->search.n_favourites = tt__with_copy_favourites(s, &out->search);
    return out->has_copy ? tt__search_open(s, &copy, &of_copy, &out->copy) : TT_OK;
}

/* The copy is searched first: its configurations are requested, not expected. */
tt_status tt__with_copy_open(tt__session *s, const tt__problem *p, double share, tt__with_copy *out) {
    double since_s = tt__now_s();
    tt_status status = tt__with_copy_plan(s, p, share, out);
    if (status == TT_OK)
        status = tt__with_copy_expect(s, &out->search);
    if (status != TT_OK)
        tt__with_copy_close(out);
    out->open = status == TT_OK;
    tt__session_phase(s, "expect", p, &since_s);
    return status;
}

void tt__with_copy_close(tt__with_copy *both) {
    tt__search_close(&both->copy);
    tt__search_close(&both->search);
    both->open = false;
}

void tt__with_copy_begin(tt__session *s, tt__with_copy *both, double share) {
    const tt__limits limits = limits_of(s, share);
    both->search.limits = limits;
    both->copy.limits = tt__limits_of_copy(&limits);
}

/* ---- While CUDA starts --------------------------------------------------------------------------------- */

static bool find_gpu(tt__session *s, tt_ctx *ctx, const char *name) {
    pthread_mutex_lock(&ctx->lock);
    bool known = *name && tt__layers_find_gpu(ctx, name, &s->gpu, &s->gpu_id) == TT_OK;
    pthread_mutex_unlock(&ctx->lock);
    return known;
}

/* Expects the copy first, and then the problem. */
static void expect_pair(tt__session *s, const tt__problem *p) {
    tt__with_copy both;
    double since_s = tt__now_s();
    s->presumed = true;
    if (tt__with_copy_plan(s, p, 1 / (double)s->n_problems, &both) == TT_OK &&
        tt__with_copy_expect(s, &both.copy) == TT_OK)
        tt__with_copy_expect(s, &both.search);
    tt__with_copy_close(&both);
    s->presumed = false;
    tt__session_phase(s, "expect", p, &since_s);
}

bool tt__with_copy_foresee(tt__session *s, tt_ctx *ctx, const char *name, tt__gpu *gpu) {
    if (!s->expected || !find_gpu(s, ctx, name))
        return false;
    *gpu = s->gpu;
    if (s->opts->force || !tt__session_has_winner(s, &s->call->problems[0]))
        expect_pair(s, &s->call->problems[0]);
    return true;
}
