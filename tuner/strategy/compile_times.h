/*
 * How long configurations compile: learnt from the trials of a search, for searches that have a time limit.
 */
#ifndef TT_TUNER_STRATEGY_COMPILE_TIMES_H
#define TT_TUNER_STRATEGY_COMPILE_TIMES_H

#include "tuner/strategy/strategy.h"

/* Predicts the seconds for each configuration of the space. Before there are trials with a compile time,
 * small numbers count as faster. */
tt_status tt__compile_times(double *seconds, const tt__view *view);

#endif
