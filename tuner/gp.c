/*
 * What all kinds of processes share: their rows.
 */
#include "tuner/gp.h"

/* Limit for all rows of numbers together. */
static const size_t bytes_max = (size_t)64 << 20;

tt_status tt__gp_open(tt__gp **out, const tt__gp_kind *kind, const tt__cost_model *m) {
    tt_status status = kind->open(out, m);
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
