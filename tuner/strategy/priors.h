/*
 * What trials elsewhere (of other sizes or GPUs, or of an older text of the kernel) say about the
 * configurations of a space. Each source of trials has an opinion of every configuration.
 */
#ifndef TT_TUNER_STRATEGY_PRIORS_H
#define TT_TUNER_STRATEGY_PRIORS_H

#include "tuner/strategy/cost_model.h"

/* A source with fewer times in the space has no opinion. */
enum { TT__PRIORS_MAX = 8, TT__PRIOR_TIMES = 8 };

typedef struct tt__priors {
    size_t n;
    float *of[TT__PRIORS_MAX]; /* logarithms of times by index in the space; those that are known have a mean
                                  of 0 */
    bool *tried[TT__PRIORS_MAX]; /* the others are guesses; part of the same allocation */
} tt__priors;

/* Adds a source if it has enough times and there is room. `times_us` are by index in the model's space: 0 was
 * not tried, INFINITY failed. Free `p` with tt__priors_free, also after a failure. */
tt_status tt__priors_add(tt__priors *p, const tt__cost_model *m, const double *times_us);
void tt__priors_free(tt__priors *p);

#endif
