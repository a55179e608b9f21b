/* How much of a problem's space a search may try, and until when. */
#ifndef TT_TUNER_LIMITS_H
#define TT_TUNER_LIMITS_H

#include <stdbool.h>

#include "tiletune.h"

/* Of what takes less, more configurations are about as fast as the best. */
enum { TT__SHORT_US = 20 };

typedef struct tt__limits {
    size_t trials;          /* that ran, those of earlier runs included; SIZE_MAX: all there are */
    double deadline_s;      /* on the clock of tt__now_s, for everything about this problem; INFINITY: none */
    bool finals;            /* are held by then, too */
    size_t trials_if_short; /* instead, where the fastest takes less than TT__SHORT_US; 0: the same */
    size_t whole;           /* spaces of no more configurations than this are tried whole all the same */
} tt__limits;

/* Every configuration, however long it takes. */
extern const tt__limits tt__no_limits;

/* TT_E_INVALID names the field of the options and its value. */
tt_status tt__limits_check(const tt_tune_opts *opts);

/* For the next of `n_left` problems of a run that ends at `end_s` (INFINITY: never): a fair part of the
 * time left. */
tt__limits tt__limits_of(const tt_tune_opts *opts, double end_s, size_t n_left);
/* For the copy that the problem is compared with: three quarters of the trials, an eighth of the time, and
 * no finals of its own. */
tt__limits tt__limits_of_copy(const tt__limits *problem);

/* How long the finals may take if the best takes that long. */
double tt__limits_finals_s(double best_us);

#endif
