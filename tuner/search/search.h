/*
 * The search of one problem: its limits, its space, and its trials so far.
 */
#ifndef TT_TUNER_SEARCH_SEARCH_H
#define TT_TUNER_SEARCH_SEARCH_H

#include "tuner/session/session.h"

/* ---- How many configurations of a problem a search may try, and how long ---------------------- */

typedef struct tt__limits {
    size_t trials;          /* trials that ran, including earlier runs; SIZE_MAX: all configurations */
    double deadline_s;      /* for everything about this problem, on the clock of tt__now_s; INFINITY: none */
    double finals_s;        /* of it for the finals; 0: there are none */
    size_t trials_if_short; /* used instead if the fastest takes less than TT__SHORT_US, and there is no cost
                               model; 0: no change */
    size_t whole;           /* spaces up to this size are tried whole, unless the search may end early */
    size_t patience; /* If the last gain took n trials, a search ends after patience * n. With a cost model it
                        takes 5/8 of `trials` to all, without 3/4 to 3/2. 0: it does not end early */
    double energy_s; /* after the deadline, for energies */
} tt__limits;

/* Every configuration, without a deadline. */
extern const tt__limits tt__no_limits;

/* TT_E_INVALID names the option and its value. */
tt_status tt__limits_check(const tt_tune_opts *opts);

/* Limits of the next problem in a run that ends at `end_s` (INFINITY: never): it gets that share of the time
 * left. */
tt__limits tt__limits_of(const tt_tune_opts *opts, double end_s, double share);
/* Limits of the copy that a problem is compared with: three quarters of its trials, an eighth of its time, no
 * finals. */
tt__limits tt__limits_of_copy(const tt__limits *problem);

/* ---- The search ------------------------------------------------------------------------------------- */

typedef struct tt__gains {
    size_t n, at;   /* trials, and how many they were at the last gain that counts */
    double best_us; /* its time; 0: none has passed */
} tt__gains;

/* A screening that is done twice, and its first result. */
typedef struct tt__repeated {
    bool pending, is_first;
    size_t index;
    tt__trial trial;
} tt__repeated;

enum { TT__REPEATED_MAX = 4 }; /* at a time */

typedef struct tt__search {
    tt__problem problem;
    tt__limits limits;
    const tt__template *t; /* a template of its operation */
    int64_t problem_id;
    tt__space space;
    tt__space_part part;   /* of the space */
    double default_weight; /* the weight of the first one, of which the others' are multiples; 0: none is
                              legal */
    tt__known *known;
    tt__screened *trials;
    size_t n_tried, n_failed, n_measured; /* n_measured: in this run */
    size_t n_skipped;                     /* tried, but missing from the recording */
    size_t n_aside;  /* tried by earlier runs, and beyond their templates' share of the effort */
    size_t n_guests; /* 1: the stored winner is here, and not of this part, sample or `only` */
    size_t wanted;   /* number of trials that the search aims at */
    tt__gains gains;
    bool settled;        /* it may end before all its trials have run (limits.patience) */
    double began_s;      /* when this run began to try */
    double pace_s;       /* a trial takes so long; 0: not known */
    double compile_s;    /* of all n_measured */
    bool has_result;     /* of this run */
    tt__repeated *again; /* TT__REPEATED_MAX of them */
    size_t n_favourites; /* compiled ahead, the first of tt__strategy_rank; 0: as many as are left */
    bool cut;            /* the budget ended the search before */
    int64_t best;        /* index of the best by screening; TT__NOTHING if none passed */
    int64_t bits;        /* with opts->same_bits the winner's class of equal bits; 0: not known yet */
    int64_t bits_on_all; /* the class of its configuration on several inputs; 0: not known yet */
    bool *confirmed;     /* those that have it; NULL: none was looked at yet */
} tt__search;

/* The configuration that stands for the winner's class, or TT__NOTHING. */
int64_t tt__search_anchor(const tt__session *s, const tt__search *search);
/* Did it pass, with bits of another class? Its time and samples are so many times as long, so that strategies
 * go elsewhere. */
enum { TT__OTHER_TIMES = 4 };
bool tt__search_has_other_bits(const tt__search *search, int64_t i);
/* Takes it out of the class. */
tt_status tt__search_expel(const tt__session *s, tt__search *search, size_t i, int64_t bits);

/* Makes the space and takes over stored trials: with opts->force only this run's, and none if s->presumed.
 * Close it with tt__search_close in any case. */
tt_status tt__search_open(tt__session *s, const tt__problem *p, const tt__limits *limits, tt__search *out);
/* Tries one more configuration, beyond all limits, if it is untried. The backend must have the search's
 * problem open, and nothing else under way. */
tt_status tt__search_try(tt__session *s, tt__search *search, size_t index);
/* The same in two parts: the request, and its trial. The first trial of a problem and a surprising new best
 * are requested a second time: `known` is still PENDING then. */
tt_status tt__search_submit(tt__session *s, tt__search *search, size_t index);
tt_status tt__search_take(tt__session *s, tt__search *search, size_t index, tt__trial *trial);
void tt__search_close(tt__search *search);

/* The number of trials allowed, as far as it is known now. */
size_t tt__search_most(const tt__search *search);
/* Sets `wanted`. */
void tt__search_aim(tt__search *search);
/* Was a configuration of this template, in [first, end), tried, or is one in flight? */
bool tt__search_competed(const tt__search *search, size_t first, size_t end);
/* Counts the templates for the problem, and those that have not competed. */
size_t tt__search_templates(const tt__search *search, size_t *n_left_out);
/* Trials that count towards the effort. */
size_t tt__search_counted(const tt__search *search);
/* The number of legal configurations; of a sampled space, about. */
size_t tt__search_size(const tt__search *search);
/* Trials that the limits still allow; 0 if the whole space was tried. A sample can be widened. */
size_t tt__search_left(const tt__search *search);
/* Will the whole space be tried, in any order? Not a sample, which is only a part of it. */
bool tt__search_wants_all(const tt__session *s, const tt__search *search);
/* The time of the best so far, not weighed by an objective; 0: none passed. */
double tt__search_best_us(const tt__search *search);

/* Multiplies a trial's time and samples by its weight for the objective. */
void tt__trial_weigh(tt__trial *trial, double weight);
/* The whole trial of a configuration that was tried. */
void tt__search_trial(tt__trial *out, const tt__search *search, size_t i);

/* Calls opts->on_progress, if set. */
void tt__search_progress(const tt__session *s, const tt__search *search, const char *phase);

/* Puts the configurations of `found` that the search's space lacks beside those of their template, or last.
 * `found` is used up. No trial may be in flight, because indices change. */
tt_status tt__search_insert(tt__search *search, tt__space *found);
/* Adds the neighbours of the fastest. */
tt_status tt__search_widen(tt__search *search, const tt__gpu *gpu);

/* ---- The schedule of the finals -------------------------------------------------------------------------
 * Their stages, and how long they take. A search with a budget keeps the time for them, so it knows the
 * schedule; tuner/finals holds them. */

/* With the incumbent and the default the contenders make TT__FINALISTS_MAX. More may enter in heats where
 * screening says less: it varies by 1 % below TT__BRIEF_US, and loads each kernel once. */
enum { TT__CONTENDERS_MAX = 26, TT__COPIES_MAX = 3, TT__BRIEF_US = 100 };

/* Every stage has another number of rounds, so that samples of two stages are never paired. Where the last
 * one is held again, all that are still in get new samples. */
typedef struct tt__stage_of_finals {
    tt__rounds rounds;
    /* limits on entrants of the next stage: their number, and their distance from the leader */
    size_t contenders, copies;
    double within;
    /* A short problem's times vary by several percent, and half a percent is wanted. A stage then takes so
     * many times as long; the last one as much longer, if it did not decide. A brief one's depend on where
     * the code lies. A stage then loads the kernels so often, at other addresses. Neither with a budget. */
    int times_if_short, loads_if_brief;
} tt__stage_of_finals;

enum { TT__STAGES = 4 };
extern const tt__stage_of_finals tt__stages[TT__STAGES];
/* With a budget, long launches need trials more than finals, as do problems that get a part of a second: they
 * have the last stage alone, with fewer rounds. */
extern const tt__rounds tt__rounds_if_one_stage;

/* Did configuration i pass its trial? */
bool tt__search_passed(const tt__search *search, int64_t i);
/* Is it slower than this many times the best, by screening? */
bool tt__search_is_beyond(const tt__search *search, int64_t i, double times);
/* Screening medians are right within a few percent, so slower configurations cannot win. */
extern const double tt__within_reach;
/* Is a budget spent on long launches, or is it over too soon for more? */
bool tt__schedule_has_one_stage(const tt__search *search);
/* The number of contenders, by the trials so far. A budget may leave time for few of them. *expected_s: how
 * long such finals take at most. */
size_t tt__schedule_contenders(const tt__search *search, double *expected_s);

#endif
