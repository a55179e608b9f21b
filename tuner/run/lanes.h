/*
 * Several devices work on several problems side by side: while some search, the finals of others go on. Then
 * no device waits for the last trials of a problem, or for its finals. No search depends on another problem
 * of the run.
 */
#ifndef TT_TUNER_RUN_LANES_H
#define TT_TUNER_RUN_LANES_H

#include "tuner/finals/finals.h"
#include "tuner/search/hunt.h"
#include "tuner/search/searches.h"

typedef enum tt__lane_state {
    TT__LANE_BLOCKED, /* an earlier lane tries the same configurations, of the copy or of the problem */
    TT__LANE_COPY,
    TT__LANE_SEARCH,
    TT__LANE_ENTRANTS, /* configurations that the finals need, and the search left out */
    TT__LANE_FINALS
} tt__lane_state;

/* A problem on its way to its winner. */
typedef struct tt__lane {
    tt__lane_state state;
    size_t at_problem;
    tt__searches both;
    tt__hunt hunt;
    size_t n_pending; /* ENTRANTS */
    tt__finals finals;
    tt__heat heat; /* asked for */
    double since_s;
    tt_result *result;
} tt__lane;

/* How many problems may be under way at once. With a budget they come one after the other, so that it is
 * kept. */
size_t tt__lanes_most(const tt__session *s);

/* Tunes all problems. `results` has one for each. After a failure the first s->n_ended are those of the
 * problems that have ended, in their order. */
tt_status tt__lanes_tune(tt__session *s, const tt__problem *problems, tt_result *results);

#endif
