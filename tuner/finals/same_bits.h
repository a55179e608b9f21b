/*
 * Winners that compute the same bits as a configuration that the caller names, on every rank and in every
 * run.
 */
#ifndef TT_TUNER_FINALS_SAME_BITS_H
#define TT_TUNER_FINALS_SAME_BITS_H

#include "tuner/finals/finals.h"

/* Chooses the entrants, as tt__finals_nominate. With opts->same_bits contenders are of the class on several
 * inputs and in several launches; others leave it. *none: nothing is left, and the result's note says why. */
tt_status tt__same_bits_nominate(const tt__session *s, tt__search *search, const tt__search *copy,
                                 tt__finals *f, tt_result *result, bool *none);

/* Fills in and says what equal bits cost, after the finals elected an entrant. */
tt_status tt__same_bits_price(const tt__session *s, const tt__finals *f, int at, tt_result *result);

/* Says in the result's note why the class has no winner. */
void tt__same_bits_none(const tt__session *s, const tt__search *search, tt_result *result);

#endif
