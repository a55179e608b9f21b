/* The default strategy: a Gaussian process over the cost model. */
#ifndef TT_TUNER_STRATEGY_SURROGATE_H
#define TT_TUNER_STRATEGY_SURROGATE_H

#include "tuner/strategy/strategy.h"

/* The largest expected improvement. */
extern const tt__strategy tt__strategy_surrogate;

/* How long configurations compile, for searches that have a time limit: predicts the seconds for each of the
 * space, learnt from the trials of the search. Before there are trials with a compile time, small numbers
 * count as faster. */
tt_status tt__compile_times(double *seconds, const tt__view *view);

#endif
