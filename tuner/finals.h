/*
 * The finals: the best few by screening, and what they are held against, measured again in interleaved
 * rounds. Three stages, or four, each with fewer entrants and more launches of each: most are out of reach
 * after a few, and what decides needs many.
 */
#ifndef TT_TUNER_FINALS_H
#define TT_TUNER_FINALS_H

#include "tuner/session.h"

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

/* Chooses the entrants; tries the stored winner and the default of the leading template, if the search has
 * not. */
tt_status tt__finals_nominate(tt__session *s, tt__search *search, const tt__search *copy, tt__finals *out);

/* Measures and stores. If that fails, or the recording knows none of them, everybody is back with the
 * screening's samples. */
tt_status tt__finals_hold(tt__session *s, tt__search *search, tt__finals *f);

/* A place, or TT__NOBODY: was it measured with those that are left? */
bool tt__finals_took_part(const tt__finals *f, int at);

/* What decides, in us: finer than the median of times that are whole ticks of the clock. Recordings of others
 * may have no samples. */
double tt__finals_middle_us(const tt__finals *f, int at);

#endif
