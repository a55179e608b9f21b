/*
 * The result of a problem, and what the caller is told about its search.
 */
#ifndef TT_TUNER_RUN_RESULT_H
#define TT_TUNER_RUN_RESULT_H

#include "tuner/search/search.h"

/* Fills in what is known before any trial. */
void tt__result_begin(const tt__session *s, const tt__problem *p, tt_result *result);
/* Are finals needed after the searches? If not, the result has the stored winner, or says why there is none. */
tt_status tt__result_needs_finals(tt__session *s, const tt__search *search, tt_result *result, bool *needed);
/* Beside a winner: tells the caller that the budget ended the search, which default failed, and the most
 * frequent reason of all failures. */
tt_status tt__result_say(const tt__session *s, const tt__search *search, tt_result *result);

#endif
