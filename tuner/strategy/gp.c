/*
 * What all kinds of processes share: their rows, and how values are squashed.
 */
#include "tuner/strategy/gp.h"

#include <math.h>
#include <stdlib.h>

#include "tuner/measure/stats.h"

tt__squash tt__squash_of(double *log_times, size_t n) {
    static const double scale_min = 0.02;
    qsort(log_times, n, sizeof *log_times, tt__by_number);
    return (tt__squash){log_times[0], fmax(log_times[n / 2] - log_times[0], scale_min)};
}

double tt__squashed(const tt__squash *s, double log_time) {
    double above = log_time - s->base;
    return s->scale > 0 && above > 0 ? s->base + s->scale * asinh(above / s->scale) : log_time;
}

/* Limit for all rows of numbers together. */
static const size_t bytes_max = (size_t)64 << 20;

tt_status tt__gp_open(tt__gp **out, const tt__gp_kind *kind, const tt__cost_model *m,
                      const tt__priors *priors) {
    tt_status status = kind->open(out, m, priors);
    if (*out)
        (*out)->kind = kind;
    return status;
}

void tt__gp_close(tt__gp *gp) {
    if (gp)
        gp->kind->close(gp);
}

bool tt__gp_has_room(const tt__gp *gp) {
    return gp->n_rows < TT__GP_ROWS_MAX && (gp->n_rows + 1) * gp->row_bytes <= bytes_max;
}

tt_status tt__gp_add(tt__gp *gp, size_t i) {
    gp->rows[gp->n_rows] = i;
    gp->known[gp->n_rows] = false;
    TT_TRY(gp->kind->add(gp));
    gp->n_rows++;
    return TT_OK;
}

void tt__gp_set(tt__gp *gp, size_t row, double value) {
    gp->values[row] = value;
    gp->known[row] = true;
}

tt_status tt__gp_fit(tt__gp *gp) {
    return gp->kind->fit ? gp->kind->fit(gp) : TT_OK;
}

void tt__gp_predict(tt__gp *gp, const double **mean, const double **deviation) {
    gp->kind->predict(gp, mean, deviation);
}
