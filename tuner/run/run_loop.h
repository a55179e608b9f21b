/*
 * The loop of a run: takes each problem from its search to its winner, on one device or on several.
 */
#ifndef TT_TUNER_RUN_RUN_LOOP_H
#define TT_TUNER_RUN_RUN_LOOP_H

#include "tuner/search/search.h"

/* Asked for each problem that has a winner, while its searches are still open. */
typedef struct tt__tune_question {
    tt_status (*ask)(void *user, tt__session *s, tt__search *copy, const tt__search *search,
                     const tt_result *winner);
    void *user;
} tt__tune_question;

/* Tunes all problems of the session's call, and asks the question (may be NULL) about each winner. `results`
 * has one for each. After a failure the first s->n_ended are those of the problems that have ended, in their
 * order. */
tt_status tt__run_loop(tt__session *s, const tt__tune_question *question, tt_result *results);

#endif
