/* The finals: the best few by screening, the default and the copies, measured again in interleaved rounds.
 * Each of three or four stages has fewer entrants and more launches. */
#ifndef TT_TUNER_FINALS_H
#define TT_TUNER_FINALS_H

#include "tuner/search.h"

enum { TT__NOBODY = -1, TT__ENTRANTS_MAX = 3 * TT__FINALISTS_MAX };

typedef struct tt__entrant {
    const tt__candidate *c;
    const tt__search *of; /* where it was screened ... */
    int64_t index;        /* ... and its place in that space */
    bool out;             /* eliminated, or never measured here */
} tt__entrant;

typedef struct tt__finals {
    size_t n, n_contenders; /* the contenders come first, then perhaps the default, then the copies */
    tt__entrant entrants[TT__ENTRANTS_MAX];
    int at_default, at_incumbent;         /* or TT__NOBODY; never eliminated */
    bool interleaved;                     /* else the samples are those of the screening */
    tt__trial trials[TT__ENTRANTS_MAX];   /* of the last stage each was in, weighed like the search's */
    tt__trial measured[TT__ENTRANTS_MAX]; /* the same as measured: to be stored */
    tt__trial fresh[TT__ENTRANTS_MAX];    /* of the stage under way */
} tt__finals;

/* Chooses the entrants; tries the stored winner and the leading template's default if the search has not. */
tt_status tt__finals_nominate(tt__session *s, tt__search *search, const tt__search *copy, tt__finals *out);

/* Measures and stores. If that fails, or the recording knows no entrant, all are back with the screening's
 * samples. */
tt_status tt__finals_hold(tt__session *s, tt__search *search, tt__finals *f);

/* A place, or TT__NOBODY: was it measured with those that are left? */
bool tt__finals_took_part(const tt__finals *f, int at);

/* The time that decides, in us: finer than a median, which is a whole number of clock ticks. Recordings
 * may have no samples. */
double tt__finals_middle_us(const tt__finals *f, int at);

#endif
