/*
 * Exact inference. A new row adds one line to the Cholesky factor of the covariance, and to the factor's
 * solution for every configuration. Mean and variance are sums over it. The covariance adds two parts:
 * effects of single coordinates, which every trial teaches, and their joint effect, which only near trials
 * teach.
 */
#include "tuner/gp.h"

#include <math.h>
#include <stdlib.h>

/* Variances of logarithms of times: common offset, single coordinates, joint effect, noise. */
static const double shared = 1.0, alone = 0.002, together = 0.003, noise = 0.0001;
/* The model knows nothing about templates, so its error for one may be larger than for any parameter. */
static const double of_kernel = 10;
/* The number of steps over which a coordinate's effect fades. */
static const double reach_alone = 4, reach_together = 3;

/* Limit for all rows of numbers together. */
static const size_t bytes_max = (size_t)64 << 20;

struct tt__gp {
    const tt__cost_model *m;
    size_t n_rows;
    size_t rows[TT__GP_ROWS_MAX];
    double values[TT__GP_ROWS_MAX];
    bool known[TT__GP_ROWS_MAX];
    double pivots[TT__GP_ROWS_MAX];    /* the diagonal of the Cholesky factor */
    double *solution[TT__GP_ROWS_MAX]; /* factor^-1 covariance(rows, all): the rows of the factor, extended to
                                          all configurations */
    double *mean, *variance, *deviation; /* one allocation */
};

static double covariance(const tt__cost_model *m, size_t a, size_t b) {
    double sum = 0, far = 0;
    for (size_t k = 0; k < m->n_coords; k++) {
        float x = m->coords[a][k], y = m->coords[b][k];
        double d = isnan(x) && isnan(y) ? 0 : isnan(x) || isnan(y) ? 1 : fabs((double)(x - y));
        d = m->words[k] && d > 0 ? 1 : d;
        sum += (k == TT__COORD_KERNEL ? of_kernel : 1) * exp(-d / reach_alone);
        far += d;
    }
    return shared + alone * sum + together * exp(-far / reach_together);
}

tt_status tt__gp_open(tt__gp **out, const tt__cost_model *m) {
    tt__gp *gp = *out = calloc(1, sizeof *gp);
    size_t n = m->n ? m->n : 1;
    if (!gp)
        return tt__fail_memory(sizeof *gp);
    gp->m = m;
    gp->mean = calloc(3 * n, sizeof *gp->mean);
    if (!gp->mean)
        return tt__fail_memory(3 * n * sizeof *gp->mean);
    gp->variance = gp->mean + n;
    gp->deviation = gp->mean + 2 * n;
    for (size_t i = 0; i < m->n; i++)
        gp->variance[i] = covariance(m, i, i);
    return TT_OK;
}

void tt__gp_close(tt__gp *gp) {
    for (size_t r = 0; gp && r < gp->n_rows; r++)
        free(gp->solution[r]);
    if (gp)
        free(gp->mean);
    free(gp);
}

bool tt__gp_has_room(const tt__gp *gp) {
    size_t row_bytes = gp->m->n * sizeof(double);
    return gp->n_rows < TT__GP_ROWS_MAX && (gp->n_rows + 1) * row_bytes <= bytes_max;
}

size_t tt__gp_rows(const tt__gp *gp) {
    return gp->n_rows;
}

size_t tt__gp_row(const tt__gp *gp, size_t row) {
    return gp->rows[row];
}

void tt__gp_set(tt__gp *gp, size_t row, double value) {
    gp->values[row] = value;
    gp->known[row] = true;
}

tt_status tt__gp_add(tt__gp *gp, size_t i) {
    size_t r = gp->n_rows, n = gp->m->n;
    double *row = calloc(n, sizeof *row), pivot = sqrt(fmax(gp->variance[i], 0) + noise);
    if (!row)
        return tt__fail_memory(n * sizeof *row);
    for (size_t c = 0; c < n; c++)
        row[c] = covariance(gp->m, i, c);
    for (size_t k = 0; k < r; k++) {
        const double *above = gp->solution[k];
        double factor = above[i];
        for (size_t c = 0; c < n; c++)
            row[c] -= factor * above[c];
    }
    for (size_t c = 0; c < n; c++) {
        row[c] /= pivot;
        gp->variance[c] -= row[c] * row[c];
    }
    gp->pivots[r] = pivot;
    gp->solution[r] = row;
    gp->rows[r] = i;
    gp->known[r] = false;
    gp->n_rows++;
    return TT_OK;
}

/* A row without a result is set to its prediction from earlier rows, and so changes nothing. */
void tt__gp_predict(tt__gp *gp, const double **mean, const double **deviation) {
    size_t n = gp->m->n;
    for (size_t c = 0; c < n; c++)
        gp->mean[c] = 0;
    for (size_t r = 0; r < gp->n_rows; r++) {
        if (!gp->known[r])
            continue;
        double z = (gp->values[r] - gp->mean[gp->rows[r]]) / gp->pivots[r];
        for (size_t c = 0; c < n; c++)
            gp->mean[c] += z * gp->solution[r][c];
    }
    for (size_t c = 0; c < n; c++)
        gp->deviation[c] = sqrt(fmax(gp->variance[c], 1e-12));
    *mean = gp->mean;
    *deviation = gp->deviation;
}
