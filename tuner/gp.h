/*
 * A Gaussian process over a space. It predicts untried configurations from trials, with an uncertainty.
 * Values are residuals of the cost model. A trial in flight is a row without a value. It lowers the
 * uncertainty around it, so that simultaneous trials spread out.
 */
#ifndef TT_TUNER_GP_H
#define TT_TUNER_GP_H

#include "tuner/cost_model.h"

enum { TT__GP_ROWS_MAX = 512 }; /* fewer if the space has more than 16,000 configurations */

typedef struct tt__gp tt__gp;

/* Covers all configurations of the model, which is borrowed. */
tt_status tt__gp_open(tt__gp **out, const tt__cost_model *m);
void tt__gp_close(tt__gp *gp);

/* Is there room for one more row? */
bool tt__gp_has_room(const tt__gp *gp);
/* Adds configuration `i` as the next row, without a value. */
tt_status tt__gp_add(tt__gp *gp, size_t i);
size_t tt__gp_rows(const tt__gp *gp);
size_t tt__gp_row(const tt__gp *gp, size_t row); /* its configuration */
void tt__gp_set(tt__gp *gp, size_t row, double value);

/* Mean and standard deviation of every residual, from the rows with values. Borrowed until the next call with
 * `gp`. */
void tt__gp_predict(tt__gp *gp, const double **mean, const double **deviation);

#endif
