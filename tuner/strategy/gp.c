/*
 * Gaussian processes over a space: exact inference, without inverting a matrix.
 *
 * The residuals f of n configurations are jointly normal, with mean m and covariance K. A trial of
 * configuration i has the value y = f(i) + e, where e is noise of variance s. After trials of the
 * configurations R, f is again normal, with
 *
 *     mean(c)     = m(c) + K(c,R) (K(R,R) + s)^-1 (y - m(R))
 *     variance(c) = K(c,c) - K(c,R) (K(R,R) + s)^-1 K(R,c)
 *
 * Let L be the Cholesky factor of K(R,R) + s, and V = L^-1 K(R, all): a row of V for each trial, with a
 * number for every configuration. Then, with L z = y - m(R),
 *
 *     mean(c)     = m(c) + sum over r of z[r] V[r][c]
 *     variance(c) = K(c,c) - sum over r of V[r][c]^2
 *
 * L need not be kept: L[r][k] is V[k][i], where i is the configuration of row r. So a new trial of i costs
 * one pass over the rows before it,
 *
 *     pivot = sqrt(variance(i) + s)
 *     V[r]  = (K(i, all) - sum over k < r of V[k][i] V[k]) / pivot
 *     z[r]  = (y[r] - m(i) - sum over k < r of V[k][i] z[k]) / pivot
 *
 * A trial in flight has a row without a value, with z[r] = 0: as if it ended as predicted. It changes no
 * mean, but lowers the variance around it, so that the next choice is elsewhere.
 *
 * Two kinds differ in K. The *sum* is for operations with a cost model: a common offset, an effect of each
 * coordinate alone, which every trial teaches, and a small joint effect, which only near trials teach. Its
 * variances are fixed. The *product* is for all others: one factor for each coordinate, so effects of single
 * coordinates and of all their combinations. A factor is (1 + a exp(-d / reach)) / (1 + a) for two values
 * that are d steps apart; its strength a is fitted, and with a = 0 the coordinate does not matter.
 *
 * The product is in units of an amplitude A (K is A times what is computed), which the values tell: with n
 * values, A = (sum of z^2 + w A0) / (n + w), where A0 is what is expected and w is how many values that
 * counts for. Fitting makes -log(likelihood) small, which is, up to a constant,
 *
 *     sum over r of log pivot[r] + (n + w) / 2 log A + sum over strengths of (log a / spread)^2 / 2
 *
 * Strengths and noise are doubled or halved in turn while that helps: a few sweeps, no gradient. Priors
 * (trials of other sizes or GPUs) are the mean m, with a weight each; that the weights are unsure adds trust
 * * P P^T to K. A fit drops the priors if the values are likelier without.
 */
#include "tuner/strategy/gp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/measure/noise.h"

tt__squash tt__squash_of(double *log_times, size_t n) {
    static const double scale_min = 0.02;
    qsort(log_times, n, sizeof *log_times, tt__by_number);
    return (tt__squash){log_times[0], fmax(log_times[n / 2] - log_times[0], scale_min)};
}

double tt__squashed(const tt__squash *s, double log_time) {
    double above = log_time - s->base;
    return s->scale > 0 && above > 0 ? s->base + s->scale * asinh(above / s->scale) : log_time;
}

enum { LANES = 8 }; /* rows are padded, so that compilers vectorise loops over them */

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

/* ==== The sum ========================================================================================== */

/* Variances of logarithms of times: common offset, single coordinates, joint effect, noise. */
static const double sum_shared = 1.0, sum_alone = 0.0007, sum_together = 0.002, sum_noise = 0.0001;
/* The model knows nothing about templates, so its error for one may be larger than for any parameter. */
static const double of_kernel = 20;
/* The number of steps over which a coordinate's effect fades. */
static const double reach_alone = 4, reach_together = 3;

typedef struct sum_process {
    tt__gp gp;
    const tt__cost_model *m;
    double pivots[TT__GP_ROWS_MAX];    /* the diagonal of the Cholesky factor */
    double *solution[TT__GP_ROWS_MAX]; /* factor^-1 covariance(rows, all): the rows of the factor, extended to
                                          all configurations */
    double *mean, *variance, *deviation; /* one allocation */
} sum_process;

/* How far two values of coordinate k are apart, in steps, and what they have in common. */
typedef struct effect {
    float of;
    double steps, shared;
} effect;

static effect effect_of(const tt__cost_model *m, size_t k, float x, float y) {
    double d = isnan(x) && isnan(y) ? 0 : isnan(x) || isnan(y) ? 1 : fabs((double)(x - y));
    d = m->words[k] && d > 0 ? 1 : d;
    return (effect){y, d, (k == TT__COORD_KERNEL ? of_kernel : 1) * exp(-d / reach_alone)};
}

/* With all configurations. Most values are those of the configuration before, so their effects are kept. */
static void covariances(double *row, const tt__cost_model *m, size_t i) {
    effect last[TT__COORDS_MAX];
    for (size_t c = 0; c < m->n; c++) {
        double sum = 0, far = 0;
        for (size_t k = 0; k < m->n_coords; k++) {
            const float x = m->coords[i][k], y = m->coords[c][k];
            if (c == 0 || !(y == last[k].of || (isnan(y) && isnan(last[k].of))))
                last[k] = effect_of(m, k, x, y);
            sum += last[k].shared;
            far += last[k].steps;
        }
        row[c] = sum_shared + sum_alone * sum + sum_together * exp(-far / reach_together);
    }
}

static tt_status open_sum(tt__gp **out, const tt__cost_model *m, const tt__priors *priors) {
    (void)priors;
    sum_process *p = calloc(1, sizeof *p);
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
        p->variance[i] = sum_shared + sum_alone * (of_kernel + (double)(m->n_coords - 1)) + sum_together;
    return TT_OK;
}

static void close_sum(tt__gp *gp) {
    sum_process *p = (sum_process *)gp;
    for (size_t r = 0; r < gp->n_rows; r++)
        free(p->solution[r]);
    free(p->mean);
    free(p);
}

static void subtract_row(double *restrict row, const double *restrict above, double f, size_t width) {
    for (size_t c = 0; c < width; c += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            row[c + lane] -= f * above[c + lane];
}

static tt_status add_sum(tt__gp *gp) {
    sum_process *p = (sum_process *)gp;
    size_t r = gp->n_rows, i = gp->rows[r], n = p->m->n, width = (n + LANES - 1) / LANES * LANES;
    double *row = calloc(width, sizeof *row), pivot = sqrt(fmax(p->variance[i], 0) + sum_noise);
    if (!row)
        return tt__fail_memory(width * sizeof *row);
    covariances(row, p->m, i);
    for (size_t k = 0; k < r; k++)
        subtract_row(row, p->solution[k], p->solution[k][i], width);
    for (size_t c = 0; c < n; c++) {
        row[c] /= pivot;
        p->variance[c] -= row[c] * row[c];
    }
    p->pivots[r] = pivot;
    p->solution[r] = row;
    return TT_OK;
}

/* A row without a result is set to its prediction from earlier rows, and so changes nothing. */
static void predict_sum(tt__gp *gp, const double **mean, const double **deviation) {
    sum_process *p = (sum_process *)gp;
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

const tt__gp_kind tt__gp_sum = {.open = open_sum, .close = close_sum, .add = add_sum, .predict = predict_sum};

/* ==== The product ====================================================================================== */

/* Variances: the common offset, and the noise before the first fit. */
static const double shared = 30, noise_first = 0.01;
/* The amplitude (a variance of logarithms of times) that is expected before there are values, and for how
 * many values that counts. */
static const double amplitude_first = 0.3, amplitude_weight = 4, amplitude_min = 1e-3;
/* The variance of each prior's weight, while priors are believed. Their weights are equal at first. */
static const double weight_variance = 0.1;
/* The number of steps over which a coordinate's effect fades. */
static const double reach = 4;
/* The strength of a value's size before the first fit. */
static const double strength_first = 3;
/* Bounds of strengths and of the noise. The logarithm of a strength is 0 with this standard deviation. */
static const double strength_min = 0.01, strength_max = 60, noise_min = 1e-3, noise_max = 0.3, spread = 1.5;
enum {
    VALUES_MAX = 256, /* values of a coordinate; if there are more, near ones become one */
    FIT_ROWS = 128,   /* a fit takes the newest rows */
    SWEEPS = 2,
    TWOS_MAX = 6
};
/* Two values of a coordinate differ in size, and in how often 2 divides them (warps, banks, sectors). */
enum { SIZE, TWOS, STRENGTHS };

typedef struct axis {
    size_t n; /* different values */
    float values[VALUES_MAX];
    bool is_word, is_count;
    double strength[STRENGTHS];
    unsigned char *at;                    /* the value of each configuration */
    float factor[VALUES_MAX][VALUES_MAX]; /* of the covariance, for two values */
} axis;

typedef struct product_process {
    tt__gp gp;
    size_t n, width;          /* width: n, padded */
    const tt__priors *priors; /* or NULL */
    double trust;             /* weight_variance, or 0: the priors were dropped */
    double expected;          /* the amplitude that is expected before there are values */
    float *opinion;           /* the mean of the priors; 0 if they were dropped */
    size_t n_axes;
    axis *axes;
    double offset; /* the first value */
    bool has_offset;
    double noise;
    double pivots[TT__GP_ROWS_MAX];   /* the diagonal of the Cholesky factor */
    double z[TT__GP_ROWS_MAX];        /* the factor's solution for the values, as far as `mean` has it */
    float *solution[TT__GP_ROWS_MAX]; /* factor^-1 covariance(rows, all): the rows of the factor, extended to
                                         all configurations */
    double *mean, *variance, *result, *deviation; /* one allocation; result: mean + offset + opinion */
} product_process;

/* ---- Coordinates --------------------------------------------------------------------------------------- */

/* How often 2 divides the number of which `coordinate` is the logarithm plus 1. */
static double twos(float coordinate) {
    int n = 0;
    for (long value = lround(exp2((double)coordinate - 1)); value > 1 && value % 2 == 0 && n < TWOS_MAX;
         value /= 2)
        n++;
    return n;
}

static double nearness(double strength, double d) {
    return (1 + strength * exp(-d / reach)) / (1 + strength);
}

static void fill_factors(axis *x) {
    for (size_t a = 0; a < x->n; a++)
        for (size_t b = 0; b <= a; b++) {
            float u = x->values[a], v = x->values[b];
            bool neither = isnan(u) && isnan(v), one = !neither && (isnan(u) || isnan(v));
            double d = neither ? 0 : one ? 1 : fabs((double)(u - v));
            double f = nearness(x->strength[SIZE], x->is_word && d > 0 ? 1 : d);
            if (x->is_count)
                f *= nearness(x->strength[TWOS], one ? 1 : neither ? 0 : fabs(twos(u) - twos(v)));
            x->factor[a][b] = x->factor[b][a] = (float)f;
        }
}

/* Lists the values of coordinate k, rounded to multiples of `step`. False if there are too many. */
static bool list_values(axis *x, const tt__cost_model *m, size_t k, float step) {
    x->n = 0;
    for (size_t i = 0; i < m->n; i++) {
        size_t at = 0;
        float value = roundf(m->coords[i][k] / step) * step;
        while (at < x->n && x->values[at] != value && !(isnan(value) && isnan(x->values[at])))
            at++;
        if (at == VALUES_MAX)
            return false;
        if (at == x->n)
            x->values[x->n++] = value;
        x->at[i] = (unsigned char)at;
    }
    return true;
}

/* A coordinate with only one value is left out. */
static tt_status add_axis(product_process *p, const tt__cost_model *m, size_t k) {
    axis *x = &p->axes[p->n_axes];
    x->at = calloc(p->width, 1);
    if (!x->at)
        return tt__fail_memory(p->width);
    for (float step = 1.0F / 1024; !list_values(x, m, k, step); step *= 2)
        ;
    x->is_word = m->words[k];
    for (size_t at = 0; at < x->n; at++) /* for powers of two, one says the other */
        x->is_count |= m->counts[k] && !m->words[k] && x->values[at] != roundf(x->values[at]);
    x->strength[SIZE] = strength_first;
    x->strength[TWOS] = 1;
    fill_factors(x);
    p->n_axes++;
    if (x->n == 1)
        free(p->axes[--p->n_axes].at);
    return TT_OK;
}

/* ---- Priors -------------------------------------------------------------------------------------------- */

/* How far each prior's trials are from the mean of the others: the mean square. This GPU or size may differ
 * as far from them. */
static double disagreement(const product_process *p) {
    double sum = 0, n = (double)p->priors->n, count = 0;
    for (size_t k = 0; k < p->priors->n; k++)
        for (size_t c = 0; c < p->n; c++) {
            double of = (double)p->priors->of[k][c], all = n * (double)p->opinion[c];
            bool tried = p->priors->tried[k][c];
            sum += tried ? pow(of - (all - of) / (n - 1), 2) : 0;
            count += tried;
        }
    return sum / count;
}

static void believe(product_process *p, bool is) {
    p->trust = is && p->priors ? weight_variance : 0;
    p->expected = amplitude_first;
    memset(p->opinion, 0, p->width * sizeof *p->opinion);
    for (size_t k = 0; p->trust > 0 && k < p->priors->n; k++)
        for (size_t c = 0; c < p->n; c++)
            p->opinion[c] += p->priors->of[k][c] / (float)p->priors->n;
    if (p->trust > 0 && p->priors->n > 1)
        p->expected = fmax(disagreement(p), amplitude_min);
}

/* What two configurations share because the weights of the priors are unsure. */
static double in_common(const product_process *p, size_t a, size_t b) {
    double sum = 0;
    for (size_t k = 0; p->trust > 0 && k < p->priors->n; k++)
        sum += (double)p->priors->of[k][a] * (double)p->priors->of[k][b];
    return p->trust * sum;
}

static void add_in_common(const product_process *p, float *row, size_t i) {
    for (size_t k = 0; p->trust > 0 && k < p->priors->n; k++) {
        const float *of = p->priors->of[k];
        float f = (float)p->trust * of[i];
        for (size_t c = 0; c < p->n; c++)
            row[c] += f * of[c];
    }
}

/* ---- Rows ---------------------------------------------------------------------------------------------- */

static void forget(product_process *p) {
    memset(p->z, 0, sizeof p->z);
    memset(p->mean, 0, p->width * sizeof *p->mean);
    for (size_t c = 0; c < p->n; c++)
        p->variance[c] = shared + 1 + in_common(p, c, c);
}

static tt_status open_product(tt__gp **out, const tt__cost_model *m, const tt__priors *priors) {
    product_process *p = calloc(1, sizeof *p);
    *out = p ? &p->gp : NULL;
    if (!p)
        return tt__fail_memory(sizeof *p);
    p->n = m->n;
    p->width = (m->n + LANES) / LANES * LANES;
    p->gp.row_bytes = p->width * sizeof(float);
    p->noise = noise_first;
    p->priors = priors;
    p->axes = calloc(m->n_coords, sizeof *p->axes);
    p->mean = calloc(4 * p->width, sizeof *p->mean);
    p->opinion = calloc(p->width, sizeof *p->opinion);
    if (!p->axes || !p->mean || !p->opinion)
        return tt__fail_memory(4 * p->width * sizeof *p->mean);
    p->variance = p->mean + p->width;
    p->result = p->mean + 2 * p->width;
    p->deviation = p->mean + 3 * p->width;
    for (size_t k = 0; k < m->n_coords; k++)
        TT_TRY(add_axis(p, m, k));
    believe(p, true);
    forget(p);
    return TT_OK;
}

static void close_product(tt__gp *gp) {
    product_process *p = (product_process *)gp;
    for (size_t r = 0; r < gp->n_rows; r++)
        free(p->solution[r]);
    for (size_t k = 0; k < p->n_axes; k++)
        free(p->axes[k].at);
    free(p->axes);
    free(p->opinion);
    free(p->mean);
    free(p);
}

static void subtract(float *restrict row, const float *restrict above, float f, size_t width) {
    for (size_t c = 0; c < width; c += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            row[c + lane] -= f * above[c + lane];
}

/* Row r of the solution from those above it. */
static void solve_row(product_process *p, size_t r) {
    float *row = p->solution[r];
    size_t i = p->gp.rows[r];
    for (size_t c = 0; c < p->width; c++)
        row[c] = 1;
    for (size_t k = 0; k < p->n_axes; k++) {
        const axis *x = &p->axes[k];
        const float *factor = x->factor[x->at[i]];
        for (size_t c = 0; c < p->width; c++)
            row[c] *= factor[x->at[c]];
    }
    for (size_t c = 0; c < p->width; c++)
        row[c] += (float)shared;
    add_in_common(p, row, i);
    for (size_t k = 0; k < r; k++)
        subtract(row, p->solution[k], p->solution[k][i], p->width);
    p->pivots[r] = sqrt(fmax(p->variance[i], 0) + p->noise);
    float scale = (float)(1 / p->pivots[r]);
    for (size_t c = 0; c < p->width; c++)
        row[c] *= scale;
    for (size_t c = 0; c < p->n; c++)
        p->variance[c] -= (double)row[c] * (double)row[c];
}

static tt_status add_product(tt__gp *gp) {
    product_process *p = (product_process *)gp;
    size_t r = gp->n_rows;
    p->solution[r] = calloc(p->width, sizeof *p->solution[r]);
    if (!p->solution[r])
        return tt__fail_memory(p->width * sizeof *p->solution[r]);
    solve_row(p, r);
    return TT_OK;
}

/* ---- The fit ------------------------------------------------------------------------------------------- */

/* The rows with values that a fit takes. */
typedef struct sample {
    size_t n, rows[FIT_ROWS];
    float cholesky[FIT_ROWS][FIT_ROWS]; /* its transpose */
} sample;

static double amplitude(const product_process *p, double squares, double n) {
    return (squares + amplitude_weight * p->expected) / (n + amplitude_weight);
}

/* The process is about differences to the first value and to the priors. */
static double residual(const product_process *p, size_t r) {
    return p->gp.values[r] - p->offset - (double)p->opinion[p->gp.rows[r]];
}

/* The negative logarithm of the likelihood of the sample's values, and of the strengths. */
static double unlikelihood(const product_process *p, sample *s, double noise) {
    double z[FIT_ROWS], squares = 0, sum = 0;
    size_t width = (s->n + LANES - 1) / LANES * LANES;
    for (size_t r = 0; r < s->n; r++) {
        float *row = s->cholesky[r];
        size_t from = r / LANES * LANES;
        size_t i = p->gp.rows[s->rows[r]];
        double rest = residual(p, s->rows[r]);
        for (size_t c = r; c < s->n; c++)
            row[c] = 1;
        for (size_t k = 0; k < p->n_axes; k++) {
            const axis *x = &p->axes[k];
            const float *factor = x->factor[x->at[i]];
            for (size_t c = r; c < s->n; c++)
                row[c] *= factor[x->at[p->gp.rows[s->rows[c]]]];
        }
        for (size_t c = r; c < s->n; c++)
            row[c] += (float)(shared + in_common(p, i, p->gp.rows[s->rows[c]]));
        for (size_t k = 0; k < r; k++) {
            subtract(row + from, s->cholesky[k] + from, s->cholesky[k][r], width - from);
            rest -= z[k] * (double)s->cholesky[k][r];
        }
        double pivot = sqrt(fmax((double)row[r], 0) + noise);
        for (size_t c = r; c < s->n; c++)
            row[c] /= (float)pivot;
        z[r] = rest / pivot;
        squares += r > 0 ? z[r] * z[r] : 0;
        sum += log(pivot);
    }
    for (size_t k = 0; k < p->n_axes; k++)
        for (int which = 0; which < STRENGTHS; which++)
            sum += pow(log(p->axes[k].strength[which]) / spread, 2) / 2;
    double n = (double)s->n - 1;
    return sum + log(amplitude(p, squares, n)) * (n + amplitude_weight) / 2 -
           log(p->expected) * amplitude_weight / 2;
}

/* Doubles or halves a strength as long as that makes the values likelier. */
static void improve(const product_process *p, sample *s, axis *x, double *strength, double *least) {
    static const double enough = 0.01;
    for (double by = 2; by >= 0.5; by /= 4) {
        bool moved = false;
        for (;;) {
            double before = *strength;
            if (before * by < strength_min || before * by > strength_max)
                break;
            *strength *= by;
            fill_factors(x);
            double now = unlikelihood(p, s, p->noise);
            if (now >= *least - enough) {
                *strength = before;
                fill_factors(x);
                break;
            }
            *least = now;
            moved = true;
        }
        if (moved)
            break;
    }
}

/* Drops the priors, or believes them again, if that makes the values likelier. */
static void judge_priors(product_process *p, sample *s, double *least) {
    if (!p->priors || p->priors->n == 0)
        return;
    bool before = p->trust > 0;
    believe(p, !before);
    double now = unlikelihood(p, s, p->noise);
    if (now < *least)
        *least = now;
    else
        believe(p, before);
}

static tt_status fit_product(tt__gp *gp) {
    product_process *p = (product_process *)gp;
    sample *s = calloc(1, sizeof *s);
    if (!s)
        return tt__fail_memory(sizeof *s);
    for (size_t r = p->gp.n_rows; r-- > 0 && s->n < FIT_ROWS;)
        if (p->gp.known[r])
            s->rows[s->n++] = r;
    double least = unlikelihood(p, s, p->noise);
    judge_priors(p, s, &least);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (size_t k = 0; k < p->n_axes; k++)
            for (int which = 0; which < (p->axes[k].is_count ? STRENGTHS : 1); which++)
                improve(p, s, &p->axes[k], &p->axes[k].strength[which], &least);
        for (double by = 2, before = p->noise; by >= 0.5 && p->noise == before; by /= 4) {
            double now = unlikelihood(p, s, before * by);
            if (now < least && before * by >= noise_min && before * by <= noise_max) {
                p->noise *= by;
                least = now;
            }
        }
    }
    free(s);
    forget(p);
    for (size_t r = 0; r < p->gp.n_rows; r++)
        solve_row(p, r);
    return TT_OK;
}

/* ---- Prediction ---------------------------------------------------------------------------------------- */

static void find_offset(product_process *p) {
    for (size_t r = 0; r < p->gp.n_rows && !p->has_offset; r++)
        if ((p->has_offset = p->gp.known[r]))
            p->offset = p->gp.values[r];
}

/* A row without a result is set to its prediction from earlier rows, and so changes nothing. */
static void predict_product(tt__gp *gp, const double **mean, const double **deviation) {
    product_process *p = (product_process *)gp;
    find_offset(p);
    double z[TT__GP_ROWS_MAX], squares = 0, count = 0;
    for (size_t r = 0; r < p->gp.n_rows; r++) {
        double before = 0;
        for (size_t k = 0; k < r; k++)
            before += z[k] * (double)p->solution[k][p->gp.rows[r]];
        z[r] = p->gp.known[r] ? (residual(p, r) - before) / p->pivots[r] : 0;
        squares += z[r] * z[r];
        count += p->gp.known[r];
    }
    for (size_t r = 0; r < p->gp.n_rows; r++) {
        double change = z[r] - p->z[r];
        for (size_t c = 0; c < p->n && change != 0; c++)
            p->mean[c] += change * (double)p->solution[r][c];
        p->z[r] = z[r];
    }
    double scale = amplitude(p, squares, count);
    for (size_t c = 0; c < p->n; c++) {
        p->result[c] = p->mean[c] + p->offset + (double)p->opinion[c];
        p->deviation[c] = sqrt(fmax(p->variance[c], 1e-6) * scale);
    }
    *mean = p->result;
    *deviation = p->deviation;
}

const tt__gp_kind tt__gp_product = {.open = open_product,
                                    .close = close_product,
                                    .add = add_product,
                                    .fit = fit_product,
                                    .predict = predict_product};

/* ==== Priors =========================================================================================== */

/* Guesses the configurations that were not tried. The process takes some of the others. */
static tt_status guess(float *of, const tt__cost_model *m, const double *times_us, size_t n_times) {
    enum { ROWS = 128 };
    const double *mean, *deviation;
    size_t seen = 0;
    tt__gp *gp;
    tt_status status = tt__gp_open(&gp, &tt__gp_product, m, NULL);
    for (size_t i = 0; i < m->n && status == TT_OK; i++) {
        if (!(times_us[i] > 0))
            continue;
        bool taken = seen * ROWS / n_times < (seen + 1) * ROWS / n_times;
        seen++;
        if (!taken || !tt__gp_has_room(gp))
            continue;
        status = tt__gp_add(gp, i);
        tt__gp_set(gp, gp->n_rows - 1, of[i]);
    }
    if (status == TT_OK)
        status = tt__gp_fit(gp);
    if (status == TT_OK) {
        tt__gp_predict(gp, &mean, &deviation);
        for (size_t i = 0; i < m->n; i++)
            of[i] = times_us[i] > 0 ? of[i] : (float)mean[i];
    }
    tt__gp_close(gp);
    return status;
}

tt_status tt__priors_add(tt__priors *p, const tt__cost_model *m, const double *times_us) {
    tt__squash squash;
    size_t n = 0, n_times = 0;
    double sum = 0, most = 0;
    float *of = calloc(m->n + 1, sizeof *of + sizeof(bool));
    bool *tried = of ? (bool *)(of + m->n + 1) : NULL;
    double *logs = calloc(m->n + 1, sizeof *logs);
    tt_status status = of && logs ? TT_OK : tt__fail_memory(m->n * (sizeof *of + sizeof *logs));
    for (size_t i = 0; i < m->n && status == TT_OK; i++) {
        n_times += tried[i] = times_us[i] > 0;
        if (times_us[i] > 0 && isfinite(times_us[i]))
            logs[n++] = log(times_us[i]);
    }
    if (status != TT_OK || n < TT__PRIOR_TIMES || p->n == TT__PRIORS_MAX)
        goto out;
    squash = tt__squash_of(logs, n);
    for (size_t k = 0; k < n; k++) {
        double value = tt__squashed(&squash, logs[k]);
        sum += value;
        most = fmax(most, value);
    }
    for (size_t i = 0; i < m->n; i++) /* a failure is as bad as the slowest */
        of[i] = (float)((isfinite(times_us[i]) ? tt__squashed(&squash, log(times_us[i])) : most) -
                        sum / (double)n);
    if (n_times < m->n)
        status = guess(of, m, times_us, n_times);
    if (status == TT_OK) {
        p->tried[p->n] = tried;
        p->of[p->n++] = of;
        of = NULL;
    }
out:
    free(of);
    free(logs);
    return status;
}

void tt__priors_free(tt__priors *p) {
    while (p->n > 0)
        free(p->of[--p->n]);
}
