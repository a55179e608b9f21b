/*
 * The limits for each level of effort. docs/search.md shows their results on recorded spaces.
 */
#include "tuner/session/limits.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"

/* A small space has few choices. Without a cost model it is tried whole, in its own order, which keeps
 * compilers busy. */
static const size_t standard_if_short = 256, standard_whole = 192;
/* bench/notes/permute.md, "When a search may end". */
static const size_t standard_patience = 3;
static const size_t trials_of[] = {
    [TT_EFFORT_STANDARD] = 128, [TT_EFFORT_QUICK] = 48, [TT_EFFORT_EXHAUSTIVE] = SIZE_MAX};
/* The part of a budget that finals may take. */
static const double for_finals = 0.25;
enum { EFFORTS = sizeof trials_of / sizeof *trials_of };

const tt__limits tt__no_limits = {SIZE_MAX, INFINITY, INFINITY, 0, 0, 0, 0};

tt_status tt__limits_check(const tt_tune_opts *opts) {
    if ((unsigned)opts->effort >= EFFORTS)
        return tt__fail(TT_E_INVALID, "effort is %d: there are TT_EFFORT_STANDARD, _QUICK and _EXHAUSTIVE",
                        (int)opts->effort);
    if (!(opts->budget_s >= 0))
        return tt__fail(TT_E_INVALID, "budget_s is %g: it must be positive, or 0 for none", opts->budget_s);
    return TT_OK;
}

tt__limits tt__limits_of(const tt_tune_opts *opts, double end_s, double share) {
    tt__limits limits = {
        opts->max_trials ? opts->max_trials : trials_of[opts->effort], INFINITY, INFINITY, 0, 0, 0, 0};
    if (opts->effort == TT_EFFORT_STANDARD && !opts->max_trials) {
        limits.trials_if_short = standard_if_short;
        limits.whole = standard_whole;
        limits.patience = standard_patience;
    }
    double now = tt__now_s();
    if (isfinite(end_s)) {
        limits.deadline_s = now + (end_s - now) * share;
        limits.finals_s = (limits.deadline_s - now) * for_finals;
    }
    return limits;
}

tt__limits tt__limits_of_copy(const tt__limits *problem) {
    tt__limits limits = *problem;
    double now = tt__now_s();
    limits.finals_s = 0;
    limits.trials_if_short = limits.whole = limits.patience = 0;
    if (limits.trials != SIZE_MAX)
        limits.trials -= limits.trials / 4;
    if (isfinite(limits.deadline_s))
        limits.deadline_s = now + (limits.deadline_s - now) / 8;
    return limits;
}
