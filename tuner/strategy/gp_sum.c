/*
 * Exact inference. A new row adds one line to the Cholesky factor of the covariance, and to the factor's
 * solution for every configuration. Mean and variance are sums over it. The covariance adds two parts:
 * effects of single coordinates, which every trial teaches, and their joint effect, which only near trials
 * teach.
 */
#include <math.h>
#include <stdlib.h>

#include "tuner/strategy/gp.h"

/* Variances of logarithms of times: common offset, single coordinates, joint effect, noise. */
static const double shared = 1.0, alone = 0.0007, together = 0.002, noise = 0.0001;
/* The model knows nothing about templates, so its error for one may be larger than for any parameter. */
static const double of_kernel = 20;
/* The number of steps over which a coordinate's effect fades. */
static const double reach_alone = 4, reach_together = 3;

typedef struct process {
    tt__gp gp;
    const tt__cost_model *m;
    double pivots[TT__GP_ROWS_MAX];    /* the diagonal of the Cholesky factor */
    double *solution[TT__GP_ROWS_MAX]; /* factor^-1 covariance(rows, all): the rows of the factor, extended to
                                          all configurations */
    double *mean, *variance, *deviation; /* one allocation */
} process;

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

static tt_status open(tt__gp **out, const tt__cost_model *m, const tt__priors *priors) {
    (void)priors;
    process *p = calloc(1, sizeof *p);
    size_t n = m->n ? m->n : 1;
    *out = p ? &p->gp : NULL;
    if (!p)
        return tt__fail_memory(sizeof *p);
    p->m = m;
    p->gp.row_bytes = m->n * sizeof(double);
    p->mean = calloc(3 * n, sizeof *p->mean);
    if (!p->mean)
        return tt__fail_memory(3 * n * sizeof *p->mean);
    p->variance = p->mean + n;
    p->deviation = p->mean + 2 * n;
    for (size_t i = 0; i < m->n; i++)
        p->variance[i] = covariance(m, i, i);
    return TT_OK;
}

static void close(tt__gp *gp) {
    process *p = (process *)gp;
    for (size_t r = 0; r < gp->n_rows; r++)
        free(p->solution[r]);
    free(p->mean);
    free(p);
}

static tt_status add(tt__gp *gp) {
    process *p = (process *)gp;
    size_t r = gp->n_rows, i = gp->rows[r], n = p->m->n;
    double *row = calloc(n, sizeof *row), pivot = sqrt(fmax(p->variance[i], 0) + noise);
    if (!row)
        return tt__fail_memory(n * sizeof *row);
    for (size_t c = 0; c < n; c++)
        row[c] = covariance(p->m, i, c);
    for (size_t k = 0; k < r; k++) {
        const double *above = p->solution[k];
        double factor = above[i];
        for (size_t c = 0; c < n; c++)
            row[c] -= factor * above[c];
    }
    for (size_t c = 0; c < n; c++) {
        row[c] /= pivot;
        p->variance[c] -= row[c] * row[c];
    }
    p->pivots[r] = pivot;
    p->solution[r] = row;
    return TT_OK;
}

/* A row without a result is set to its prediction from earlier rows, and so changes nothing. */
static void predict(tt__gp *gp, const double **mean, const double **deviation) {
    process *p = (process *)gp;
    size_t n = p->m->n;
    for (size_t c = 0; c < n; c++)
        p->mean[c] = 0;
    for (size_t r = 0; r < gp->n_rows; r++) {
        if (!gp->known[r])
            continue;
        double z = (gp->values[r] - p->mean[gp->rows[r]]) / p->pivots[r];
        for (size_t c = 0; c < n; c++)
            p->mean[c] += z * p->solution[r][c];
    }
    for (size_t c = 0; c < n; c++)
        p->deviation[c] = sqrt(fmax(p->variance[c], 1e-12));
    *mean = p->mean;
    *deviation = p->deviation;
}

const tt__gp_kind tt__gp_sum = {.open = open, .close = close, .add = add, .predict = predict};
