/*
 * A Gaussian process over a space. It predicts untried configurations from trials, with an uncertainty.
 * Values are residuals of the cost model. A trial in flight is a row without a value. It lowers the
 * uncertainty around it, so that simultaneous trials spread out.
 */
#ifndef TT_TUNER_STRATEGY_GP_H
#define TT_TUNER_STRATEGY_GP_H

#include "tuner/strategy/cost_model.h"

/* Logarithms of times that are far above the best differ less. How slow the slow ones are says little about
 * the fast ones. */
typedef struct tt__squash {
    double base, scale; /* scale 0: nothing changes */
} tt__squash;

/* By n logarithms, at least one, of which half become "slow". Sorts them. */
tt__squash tt__squash_of(double *log_times, size_t n);
double tt__squashed(const tt__squash *s, double log_time);

/* What trials elsewhere (of other sizes or GPUs, or of an older text of the kernel) say about the
 * configurations of a space. Each source of trials has an opinion of every configuration: logarithms of
 * times, squashed as the search squashes its own. A process guesses what the source has not tried. */
/* A source with fewer times in the space has no opinion. */
enum { TT__PRIORS_MAX = 8, TT__PRIOR_TIMES = 8 };

typedef struct tt__priors {
    size_t n;
    float *of[TT__PRIORS_MAX]; /* logarithms of times by index in the space; those that are known have a mean
                                  of 0 */
    bool *tried[TT__PRIORS_MAX]; /* the others are guesses; part of the same allocation */
} tt__priors;

enum { TT__GP_ROWS_MAX = 512 }; /* fewer in a large space */

typedef struct tt__gp tt__gp;

/* What a process assumes: a kind of covariance. */
typedef struct tt__gp_kind {
    tt_status (*open)(tt__gp **out, const tt__cost_model *m, const tt__priors *priors);
    void (*close)(tt__gp *gp);
    tt_status (*add)(tt__gp *gp);
    tt_status (*fit)(tt__gp *gp); /* NULL: nothing is fitted */
    void (*predict)(tt__gp *gp, const double **mean, const double **deviation);
} tt__gp_kind;

/* A sum of effects of single coordinates and a small joint effect, with fixed variances: the errors of a cost
 * model that applies. */
extern const tt__gp_kind tt__gp_sum;
/* A product over the coordinates with fitted strengths, for operations without a cost model. */
extern const tt__gp_kind tt__gp_product;

/* The start of every kind's process. */
struct tt__gp {
    const tt__gp_kind *kind;
    size_t row_bytes; /* memory that a row takes */
    size_t n_rows;
    size_t rows[TT__GP_ROWS_MAX]; /* their configurations */
    double values[TT__GP_ROWS_MAX];
    bool known[TT__GP_ROWS_MAX]; /* has it a value? */
};

/* Covers all configurations of the model. `priors` are NULL, or expected values that a fit may drop; the sum
 * ignores them. Both are borrowed. Close it also after a failure. */
tt_status tt__gp_open(tt__gp **out, const tt__gp_kind *kind, const tt__cost_model *m,
                      const tt__priors *priors);
void tt__gp_close(tt__gp *gp);

/* Is there room for one more row? */
bool tt__gp_has_room(const tt__gp *gp);
/* Adds configuration `i` as the next row, without a value. */
tt_status tt__gp_add(tt__gp *gp, size_t i);
void tt__gp_set(tt__gp *gp, size_t row, double value);

/* Fits what the process assumes (which coordinates matter, the noise) to the rows with values, of which there
 * are several. It takes as long as some dozen predictions. */
tt_status tt__gp_fit(tt__gp *gp);

/* Mean and standard deviation of every residual, from the rows with values. Borrowed until the next call with
 * `gp`. */
void tt__gp_predict(tt__gp *gp, const double **mean, const double **deviation);

/* Adds a source if it has enough times and there is room. `times_us` are by index in the model's space: 0 was
 * not tried, INFINITY failed. Free `p` with tt__priors_free, also after a failure. */
tt_status tt__priors_add(tt__priors *p, const tt__cost_model *m, const double *times_us);
void tt__priors_free(tt__priors *p);

#endif
