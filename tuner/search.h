/* The search of one problem: its space, the trials so far, and which configurations to try next. */
#ifndef TT_TUNER_SEARCH_H
#define TT_TUNER_SEARCH_H

#include "tuner/limits.h"
#include "tuner/session.h"

typedef struct tt__search {
    tt__problem problem;
    tt__limits limits;
    const tt__template *t; /* one whose operation it is */
    int64_t problem_id;
    tt__space space;
    tt__known *known;
    tt__trial *trials;
    size_t n_tried, n_failed, n_measured; /* n_measured: by this run */
    size_t n_skipped;                     /* of the tried: not in the recording */
    size_t n_aside; /* of the tried, by earlier runs: count for no more than their templates' share */
    size_t wanted;  /* trials that are to be there in the end */
    bool cut;       /* the budget ended it before that */
    int64_t best;   /* index by screening, TT__NOTHING if none passed */
} tt__search;

/* Makes the space and takes stored trials over (unless opts->force or s->presumed). Release with
 * tt__search_close in any case. */
tt_status tt__search_open(tt__session *s, const tt__problem *p, const tt__limits *limits, tt__search *out);
/* Tries more of the space, within the limits. On TT_E_INTERRUPTED the search holds what is known. */
tt_status tt__search_run(tt__session *s, tt__search *search, const char *phase);
/* Tries one more, beyond all limits, if it is untried. The search's problem must be the backend's. */
tt_status tt__search_try(tt__session *s, tt__search *search, size_t index);
void tt__search_close(tt__search *search);

/* Trials that count towards the effort. */
size_t tt__search_counted(const tt__search *search);
/* Trials that the limits still allow; 0 if all of the space has been tried. */
size_t tt__search_left(const tt__search *search);
/* Will all of the space be tried, in any order? */
bool tt__search_wants_all(const tt__session *s, const tt__search *search);
/* The time, not weighed by any objective, of the best so far; 0: nothing has passed. */
double tt__search_best_us(const tt__search *search);

/* Multiplies a time and its samples by what they are worth to an objective. */
void tt__trial_weigh(tt__trial *trial, double weight);

#endif
