/* See the header. */
#include "tuner/search/searches.h"

#include <math.h>

#include "base/clock.h"
#include "kernel/space/operation.h"
#include "tuner/measure/energy.h"
#include "tuner/search/foresee.h"
#include "tuner/search/hunt.h"

static tt__limits limits_of(const tt__session *s, size_t n_left) {
    tt__limits limits = tt__limits_of(s->opts, s->end_s, n_left);
    if (s->call->only_finals)
        limits.trials = limits.trials_if_short = limits.whole = 0;
    const double energy_s = tt__energy_wanted_s(), part_s = limits.deadline_s - tt__now_s();
    if (s->call->objective != TT__OBJECTIVE_TIME && s->backend->counts_energy && isfinite(part_s) &&
        part_s > 2 * energy_s) {
        limits.energy_s = energy_s;
        limits.deadline_s -= energy_s;
    }
    if (s->call->after && s->opts->replay) /* it wants the recorded winner, in any order of trials */
        limits.patience = 0;
    return limits;
}

size_t tt__searches_favourites(const tt__session *s, const tt__search *search) {
    enum { FAVOURITES = 40 }; /* of those after them, many are never tried */
    const size_t left = tt__search_left(search);
    if (!search->t->operation->moves || (s->strategy && s->strategy != &tt__strategy_surrogate) ||
        tt__search_wants_all(s, search))
        return 0;
    return left < FAVOURITES ? left : FAVOURITES;
}

tt_status tt__searches_plan(tt__session *s, const tt__problem *p, size_t n_left, tt__searches *out) {
    const tt__limits limits = limits_of(s, n_left), of_copy = tt__limits_of_copy(&limits);
    tt__problem copy;
    *out = (tt__searches){.copy.best = TT__NOTHING, .search.best = TT__NOTHING};
    out->has_copy = tt__problem_copy(&copy, p);
    TT_TRY(tt__search_open(s, p, &limits, &out->search));
    out->search.n_favourites = tt__searches_favourites(s, &out->search);
    return out->has_copy ? tt__search_open(s, &copy, &of_copy, &out->copy) : TT_OK;
}

/* The copy is searched first: its configurations are requested, not expected. */
tt_status tt__searches_open(tt__session *s, const tt__problem *p, size_t n_left, tt__searches *out) {
    double since_s = tt__now_s();
    tt_status status = tt__searches_plan(s, p, n_left, out);
    if (status == TT_OK)
        status = tt__foresee_search(s->foresee, &out->search);
    if (status != TT_OK)
        tt__searches_close(out);
    out->open = status == TT_OK;
    tt__session_phase(s, "expect", p, &since_s);
    return status;
}

void tt__searches_close(tt__searches *both) {
    tt__search_close(&both->copy);
    tt__search_close(&both->search);
    both->open = false;
}

tt_status tt__searches_run_copy(tt__session *s, tt__searches *both, size_t n_left) {
    double since_s = tt__now_s();
    const tt__limits limits = limits_of(s, n_left);
    if (!both->has_copy || both->copy_done)
        return TT_OK;
    both->copy.limits = tt__limits_of_copy(&limits);
    TT_TRY(tt__search_run(s, &both->copy, "copy"));
    both->copy_done = true;
    tt__session_phase(s, "search", &both->copy.problem, &since_s);
    return TT_OK;
}

tt_status tt__searches_run(tt__session *s, tt__searches *both, size_t n_left) {
    both->search.limits = limits_of(s, n_left);
    TT_TRY(tt__searches_run_copy(s, both, n_left));
    double since_s = tt__now_s();
    TT_TRY(tt__search_run(s, &both->search, "search"));
    tt__session_phase(s, "search", &both->search.problem, &since_s);
    return TT_OK;
}
