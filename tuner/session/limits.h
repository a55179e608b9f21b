/*
 * How many configurations of a problem a search may try, and how long.
 */
#ifndef TT_TUNER_SESSION_LIMITS_H
#define TT_TUNER_SESSION_LIMITS_H

#include <stdbool.h>

#include "base/limits.h"
#include "tiletune.h"

typedef struct tt__limits {
    size_t trials;          /* trials that ran, including earlier runs; SIZE_MAX: all configurations */
    double deadline_s;      /* for everything about this problem, on the clock of tt__now_s; INFINITY: none */
    double finals_s;        /* of it for the finals; 0: there are none */
    size_t trials_if_short; /* used instead if the fastest takes less than TT__SHORT_US, and there is no cost
                               model; 0: no change */
    size_t whole;           /* spaces up to this size are tried whole, unless the search may end early */
    size_t patience; /* If the last gain took n trials, a search with a cost model ends after patience * n,
                        and not before 5/8 of `trials`. 0: it does not end early */
    double energy_s; /* after the deadline, for energies */
} tt__limits;

/* Every configuration, without a deadline. */
extern const tt__limits tt__no_limits;

/* TT_E_INVALID names the option and its value. */
tt_status tt__limits_check(const tt_tune_opts *opts);

/* Limits of the next problem in a run that ends at `end_s` (INFINITY: never): it gets that share of the time
 * left. */
tt__limits tt__limits_of(const tt_tune_opts *opts, double end_s, double share);
/* Limits of the copy that a problem is compared with: three quarters of its trials, an eighth of its time, no
 * finals. */
tt__limits tt__limits_of_copy(const tt__limits *problem);

#endif
