/*
 * A sampled space gets more members while it is searched.
 */
#ifndef TT_TUNER_SEARCH_WIDEN_H
#define TT_TUNER_SEARCH_WIDEN_H

#include "tuner/search/search.h"

/* Puts the configurations of `found` that the search's space lacks beside those of their template, or last.
 * `found` is used up. No trial may be in flight, because indices change. */
tt_status tt__search_insert(tt__search *search, tt__space *found);
/* Adds the neighbours of the fastest. */
tt_status tt__search_widen(tt__search *search, const tt__gpu *gpu);

#endif
