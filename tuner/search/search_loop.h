/*
 * A search that is under way: asks the strategy, and keeps the backend busy with what it names.
 */
#ifndef TT_TUNER_SEARCH_SEARCH_LOOP_H
#define TT_TUNER_SEARCH_SEARCH_LOOP_H

#include "tuner/search/search.h"
#include "tuner/strategy/strategy.h"

/*
 * What a search knows before its first trial. Starting points are what programs launch now, the stale winner
 * of the same problem, winners of other sizes and GPUs, and the fastest trials of their problems. Without a
 * cost model, all their trials are priors. Only earlier runs are used, so that a result does not depend on
 * other problems of the run, unless it hurries.
 */
enum { TT__WARM_STARTS_MAX = 16 };

typedef struct tt__warm_starts {
    size_t n;
    size_t at[TT__WARM_STARTS_MAX]; /* indices in the space without repetition, most promising first */
} tt__warm_starts;

/* Where a run looks; all borrowed. */
typedef struct tt__elsewhere {
    tt__store *store;
    const tt__winners *winners;
    const tt__gpu *gpu; /* of the run, as the rest */
    const tt__env *env;
    int64_t gpu_id, run_id;
    const tt_choice *answer; /* what is launched for the problem now; or NULL */
} tt__elsewhere;

/* Finds starts and priors for a problem. A winner of another GPU is no start if its trials are a prior. Free
 * the priors also after a failure. */
tt_status tt__warm_starts_find(tt__warm_starts *out, tt__priors *priors, const tt__elsewhere *from,
                               const tt__problem *p, const tt__space *space, const tt__cost_model *m);

/* The same for a search of a run. */
tt_status tt__search_loop_starts(const tt__session *s, const tt__search *search, const tt__cost_model *m,
                                 tt__warm_starts *out, tt__priors *priors);

typedef struct tt__search_loop {
    tt__search *search; /* borrowed */
    const char *phase;  /* for progress */
    enum { TT__SEARCH_OVER, TT__SEARCH_ROUND, TT__SEARCH_REST } stage;
    double first_s; /* of the first result */
    size_t n_pending;
    bool wants_default; /* it is the first request, and awaited beyond the budget */
    size_t until;       /* this round ends with so many trials */
    size_t rest;        /* REST: the next template begins here */
    const tt__strategy *strategy;
    /* Of this round: */
    void *self;
    tt__view view;
    tt__cost_model model;
    tt__warm_starts starts;
    tt__priors priors;
} tt__search_loop;

/* Starts the search's problem in the backend, and requests the first trials. End it with tt__search_loop_end,
 * also after a failure. */
tt_status tt__search_loop_begin(tt__session *s, tt__search *search, const char *phase, tt__search_loop *out);
/* Requests what the strategy names, as far as the backend has room. It is OVER when it names nothing
 * and nothing is in flight. */
tt_status tt__search_loop_feed(tt__session *s, tt__search_loop *u);
/* Takes a trial of the search, and feeds. */
tt_status tt__search_loop_take(tt__session *s, tt__search_loop *u, size_t index, tt__trial *trial);
void tt__search_loop_end(tt__search_loop *u);

/* Tries more configurations, within the limits. After TT_E_INTERRUPTED the search has its results so far. */
tt_status tt__search_run(tt__session *s, tt__search *search, const char *phase);

#endif
