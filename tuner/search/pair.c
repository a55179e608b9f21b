/*
 * The two searches for a problem.
 */
#include "tuner/search/pair.h"

#include <math.h>

#include "base/clock.h"
#include "kernel/space/operation.h"
#include "tuner/measure/energy.h"
#include "tuner/search/foresee.h"
#include "tuner/search/underway.h"

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

size_t tt__pair_favourites(const tt__session *s, const tt__search *search) {
    enum { FAVOURITES = 40, HURRIED = 8 }; /* of those after them, many are never tried */
    const size_t left = tt__search_left(search), most = tt__session_hurries(s) ? HURRIED : FAVOURITES;
    if (!search->t->operation->moves || (s->strategy && s->strategy != &tt__strategy_surrogate) ||
        tt__search_wants_all(s, search))
        return 0;
    return left < most ? left : most;
}

tt_status tt__pair_plan(tt__session *s, const tt__problem *p, double share, tt__pair *out) {
    const tt__limits limits = limits_of(s, share), of_copy = tt__limits_of_copy(&limits);
    tt__problem copy;
    *out = (tt__pair){.copy.best = TT__NOTHING, .search.best = TT__NOTHING};
    out->has_copy = !tt__session_hurries(s) && tt__problem_copy(&copy, p);
    TT_TRY(tt__search_open(s, p, &limits, &out->search));
    out->search.n_favourites = tt__pair_favourites(s, &out->search);
    return out->has_copy ? tt__search_open(s, &copy, &of_copy, &out->copy) : TT_OK;
}

/* The copy is searched first: its configurations are requested, not expected. */
tt_status tt__pair_open(tt__session *s, const tt__problem *p, double share, tt__pair *out) {
    double since_s = tt__now_s();
    tt_status status = tt__pair_plan(s, p, share, out);
    if (status == TT_OK)
        status = tt__foresee_search(s, &out->search);
    if (status != TT_OK)
        tt__pair_close(out);
    out->open = status == TT_OK;
    tt__session_phase(s, "expect", p, &since_s);
    return status;
}

void tt__pair_close(tt__pair *both) {
    tt__search_close(&both->copy);
    tt__search_close(&both->search);
    both->open = false;
}

void tt__pair_begin(tt__session *s, tt__pair *both, double share) {
    const tt__limits limits = limits_of(s, share);
    both->search.limits = limits;
    both->copy.limits = tt__limits_of_copy(&limits);
}
