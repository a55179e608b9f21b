/*
 * The winner of a search.
 */
#ifndef TT_TUNER_FINALS_WINNER_H
#define TT_TUNER_FINALS_WINNER_H

#include "tuner/finals/finals.h"

/* Elects and stores the winner of a finished search after its finals were held, compares it with the best of
 * `copy` (may be empty), and fills in the result. */
tt_status tt__elect(tt__session *s, const tt__search *search, const tt__search *copy, tt__finals *f,
                    tt_result *result);

/* Takes the stored winner if nothing was measured and it is still valid. It is valid if the environment and
 * the template are the same. Except in a replay, it must also have been measured here. */
tt_status tt__stored_winner(tt__session *s, const tt__search *search, tt_result *result, bool *holds);

#endif
