/*
 * Energies of a few candidates, measured and stored. It takes 20 s for each, so only leaders of the finals
 * and `tune explain --energy` have them.
 */
#ifndef TT_TUNER_FINALS_ENERGY_FINALS_H
#define TT_TUNER_FINALS_ENERGY_FINALS_H

#include "tuner/finals/finals.h"
#include "tuner/measure/energy.h"

/* trials[i].energy gets those of candidate i, at most TT__ENERGY_THINGS_MAX - 1 of them. Before, its time_us
 * is how long the candidate takes, for the time limit. TT_E_UNSUPPORTED: energies are not to be had here, or
 * not in the time of a budget; the message says why. */
tt_status tt__energy_measure(const tt__session *s, const tt__search *search, const tt__candidate *const *c,
                             size_t n, tt__trial *trials);

/* The entrant that takes the least energy (or energy times time) of the fastest contenders, if that is beyond
 * the noise; else `fastest`. Says what it found. A failure changes nothing, either. */
int tt__energy_elect(const tt__session *s, const tt__search *search, const tt__finals *f, int fastest);

#endif
