/*
 * One run: for each problem the copy, the search, the finals and the winner. Trials are stored when they end,
 * so that a killed run can be continued.
 */
#ifndef TT_TUNER_RUN_TUNE_H
#define TT_TUNER_RUN_TUNE_H

#include "kernel/load/set.h"
#include "tuner/search/search.h"

/* Called for each problem that has a winner, while its searches are still open. */
typedef tt_status (*tt__after_fn)(void *user, tt__session *s, tt__search *copy, const tt__search *search,
                                  const tt_result *winner);

/* What the winner has least of. The search is for time; the others choose among the leaders of the finals. */
typedef enum tt__objective { TT__OBJECTIVE_TIME, TT__OBJECTIVE_ENERGY, TT__OBJECTIVE_EDP } tt__objective;

typedef struct tt__tune_call {
    size_t n;
    const tt__problem *problems;
    const tt__template_set *templates; /* templates of the problems' operations, and of the copy; borrowed */
    bool stored;         /* nothing is searched: problems without a winner that still holds have none */
    bool only_finals;    /* no new trials, and finals even where a valid winner is stored */
    tt__space_part part; /* of each space that is tried */
    tt__objective objective;
    tt__after_fn after; /* NULL: nothing */
    void *user;
} tt__tune_call;

/* Fills in the parts of a result that are known before any trial. */
void tt__tune_begin_result(const tt__session *s, const tt__problem *p, tt_result *result);
/* Are finals needed after the searches? If not, the result has the stored winner, or says why there is
 * none. */
tt_status tt__tune_needs_finals(tt__session *s, const tt__search *search, tt_result *result, bool *needed);
/* Beside a winner: tells the caller which default failed, and the most frequent reason of all failures. */
tt_status tt__tune_say_failures(const tt__session *s, const tt__search *search, tt_result *result);

/* *out is freed with free. */
tt_status tt__tune(tt_report **out, tt_ctx *ctx, const tt__tune_call *call, const tt_tune_opts *opts);

#endif
