/*
 * The driver of a run: takes each problem from its search to its winner, on one device or on several.
 */
#ifndef TT_TUNER_RUN_DRIVER_H
#define TT_TUNER_RUN_DRIVER_H

#include "tuner/run/tune.h"

/* Tunes all problems of the session's call, and asks the question (may be NULL) about each winner. `results`
 * has one for each. After a failure the first s->n_ended are those of the problems that have ended, in their
 * order. */
tt_status tt__driver_run(tt__session *s, const tt__tune_question *question, tt_result *results);

#endif
