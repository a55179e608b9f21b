/*
 * The winner of a search.
 */
#ifndef TT_TUNER_FINALS_WINNER_H
#define TT_TUNER_FINALS_WINNER_H

#include "tuner/finals/finals.h"
#include "tuner/measure/energy.h"

/* Elects and stores the winner of a finished search after its finals were held, compares it with the best of
 * `copy` (may be empty), and fills in the result. */
tt_status tt__elect(tt__session *s, const tt__search *search, const tt__search *copy, tt__finals *f,
                    tt_result *result);

/* Takes the stored winner if nothing was measured and it is still valid. It is valid if the environment and
 * the template are the same. Except in a replay, it must also have been measured here. */
tt_status tt__stored_winner(tt__session *s, const tt__search *search, tt_result *result, bool *holds);

/* After a search without a winner: removes the stored one if that is known to be wrong now, in the
 * environment that it was measured in. A program would launch it. `f`: the finals that were held, or NULL. */
tt_status tt__winner_revoke(const tt__session *s, const tt__search *search, const tt__finals *f);

/* ---- Equal bits: winners that compute the bits of a configuration that the caller names ---- */

/* Chooses the entrants, as tt__finals_nominate. With opts->same_bits contenders are of the class on several
 * inputs and in several launches; others leave it. *none: nothing is left, and the result's note says why. */
tt_status tt__same_bits_nominate(const tt__session *s, tt__search *search, const tt__search *copy,
                                 tt__finals *f, tt_result *result, bool *none);

/* Says in the result's note why the class has no winner. */
void tt__same_bits_none(const tt__session *s, const tt__search *search, tt_result *result);

/* Measures and stores the energies of a few candidates. It takes 20 s for each, so only leaders of the finals
 * and `tune explain --energy` have them. trials[i].energy gets those of candidate i, at most
 * TT__ENERGY_THINGS_MAX - 1 of them. Before, its time_us is how long the candidate takes, for the time limit.
 * TT_E_UNSUPPORTED: energies are not to be had here, or not in the time of a budget; the message says why. */
tt_status tt__energy_measure(const tt__session *s, const tt__search *search,
                             const tt__configuration *const *c, size_t n, tt__trial *trials);

#endif
