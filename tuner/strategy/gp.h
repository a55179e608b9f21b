/*
 * A Gaussian process over a space. It predicts untried configurations from trials, with an uncertainty.
 * Values are residuals of the cost model. A trial in flight is a row without a value. It lowers the
 * uncertainty around it, so that simultaneous trials spread out.
 */
#ifndef TT_TUNER_STRATEGY_GP_H
#define TT_TUNER_STRATEGY_GP_H

#include "tuner/strategy/priors.h"

/* Logarithms of times that are far above the best differ less. How slow the slow ones are says little about
 * the fast ones. */
typedef struct tt__squash {
    double base, scale; /* scale 0: nothing changes */
} tt__squash;

/* By n logarithms, at least one, of which half become "slow". Sorts them. */
tt__squash tt__squash_of(double *log_times, size_t n);
double tt__squashed(const tt__squash *s, double log_time);

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

#endif
