/*
 * The schedule of the finals: their stages, and how long they take. A search with a budget keeps the time for
 * them, so it knows the schedule; tuner/finals holds them.
 */
#ifndef TT_TUNER_SEARCH_SCHEDULE_H
#define TT_TUNER_SEARCH_SCHEDULE_H

#include "tuner/search/search.h"

/* With the incumbent and the default the contenders make TT__FINALISTS_MAX. More may enter in heats where
 * screening says less: it varies by 1 % below TT__BRIEF_US, and loads each kernel once. */
enum { TT__CONTENDERS_MAX = 26, TT__COPIES_MAX = 3, TT__BRIEF_US = 100 };

/* Every stage has another number of rounds, so that samples of two stages are never paired. Where the last
 * one is held again, all that are still in get new samples. */
typedef struct tt__stage_of_finals {
    tt__rounds rounds;
    /* limits on entrants of the next stage: their number, and their distance from the leader */
    size_t contenders, copies;
    double within;
    /* A short problem's times vary by several percent, and half a percent is wanted. A stage then takes so
     * many times as long; the last one as much longer, if it did not decide. A brief one's depend on where
     * the code lies. A stage then loads the kernels so often, at other addresses. Neither with a budget. */
    int times_if_short, loads_if_brief;
} tt__stage_of_finals;

enum { TT__STAGES = 4 };
extern const tt__stage_of_finals tt__stages[TT__STAGES];
/* With a budget, trials need long launches more than the finals do: these have the last stage alone, with
 * fewer rounds. */
extern const tt__rounds tt__rounds_if_long;

/* Did configuration i pass its trial? */
bool tt__search_passed(const tt__search *search, int64_t i);
/* Is it slower than this many times the best, by screening? */
bool tt__search_is_beyond(const tt__search *search, int64_t i, double times);
/* Screening medians are right within a few percent, so slower configurations cannot win. */
extern const double tt__within_reach;
/* Is a budget spent on long launches? */
bool tt__schedule_is_long(const tt__search *search);
/* The number of contenders, by the trials so far. A budget may leave time for few of them. *expected_s: how
 * long such finals take at most. */
size_t tt__schedule_contenders(const tt__search *search, double *expected_s);

#endif
