/*
 * The finals measure the best few of the screening, the default and the copies again, in interleaved rounds.
 * There are three or four stages, for long kernels with a budget one. Each has fewer entrants and more
 * launches than the one before. A short problem's last stage may be held again.
 */
#ifndef TT_TUNER_FINALS_FINALS_H
#define TT_TUNER_FINALS_FINALS_H

#include "tuner/measure/noise.h"
#include "tuner/search/search.h"

enum { TT__NOBODY = -1, TT__ENTRANTS_MAX = 3 * TT__FINALISTS_MAX };

/* A smaller ratio of two times does not matter to users. */
extern const double tt__indistinct;

typedef struct tt__entrant {
    const tt__configuration *c;
    const tt__search *of; /* the search that screened it */
    int64_t index;        /* its place in that space */
    bool out;             /* eliminated, or never measured in the finals */
} tt__entrant;

typedef struct tt__finals {
    size_t n, n_contenders; /* order: contenders, the default if it is not one of them, the one
                                with other bits, copies */
    tt__entrant entrants[TT__ENTRANTS_MAX];
    int at_default, at_incumbent;         /* or TT__NOBODY; never eliminated */
    int at_other;                         /* the fastest with other bits, to compare with; or TT__NOBODY */
    bool interleaved;                     /* false: the samples are those of the screening */
    tt__trial trials[TT__ENTRANTS_MAX];   /* from each entrant's last stage, weighed as in the search */
    tt__trial measured[TT__ENTRANTS_MAX]; /* the same without weights, for the store */
    tt__trial fresh[TT__ENTRANTS_MAX];    /* from the current stage */
    size_t stage, heat;                   /* the current ones */
    bool again;                           /* the last stage is held a second time */
    bool one_stage;                       /* only the last stage is held, with fewer rounds */
    double n_fitting;                     /* so many rounds of the stage end before the deadline */
    size_t n_now, now[TT__ENTRANTS_MAX];  /* entrants that the current stage measures; none between stages */
    tt_status status;                     /* of the last heat; after a failure there are no more */
} tt__finals;

/* Entrants that are measured together, and where their trials go. */
typedef struct tt__heat {
    const tt__configuration *c[TT__FINALISTS_MAX];
    size_t n;
    tt__rounds rounds;
    double lap_us; /* their times together, by screening, not weighed */
    tt__trial *trials;
} tt__heat;

/* The next configuration that the finals need and the search left out, or TT__NOBODY. Begin with *n_before 0,
 * and try each before the next call. */
tt_status tt__finals_wants(const tt__session *s, const tt__search *search, size_t *n_before, int64_t *index);

/* Chooses the entrants, when nothing is wanted any more. */
tt_status tt__finals_nominate(const tt__session *s, const tt__search *search, const tt__search *copy,
                              tt__finals *out);

/* The next heat; false: the finals are over. Measure it, and tell how that ended. */
bool tt__finals_next(const tt__session *s, const tt__search *search, tt__finals *f, tt__heat *heat);
void tt__finals_ended(const tt__search *search, tt__finals *f, tt_status status);
/* Stores the trials. If a heat failed, or the recording has no entrant, all entrants return with their
 * screening samples. */
tt_status tt__finals_conclude(const tt__session *s, tt__finals *f);

/* Was the entrant (a place or TT__NOBODY) measured together with those that are left? */
bool tt__finals_took_part(const tt__finals *f, int at);

/* The ratio of a to b, from paired samples if there are any. */
tt__ratio tt__compare_trials(const tt__trial *a, const tt__trial *b);

/* The time that decides, in us. It is finer than a median, which is a whole number of clock ticks. Recordings
 * may lack samples. */
double tt__finals_middle_us(const tt__finals *f, int at);
/* The contender with the least such time, or TT__NOBODY. */
int tt__finals_best(const tt__finals *f);

#endif
