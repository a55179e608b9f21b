/*
 * Exact inference. A new row adds one line to the Cholesky factor of the covariance, and to the factor's
 * solution for every configuration. Mean and variance are sums over it.
 *
 * The covariance is a product over the coordinates, so it has effects of single coordinates and of all their
 * combinations. Each coordinate has strengths, which are fitted to the rows: 0 means that the coordinate does
 * not matter. Priors are a mean, and a part of the covariance by which their weights are learnt. All is in
 * units of the amplitude, which follows from the values.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/strategy/gp.h"

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
    LANES = 8,        /* rows are padded, so that compilers vectorise loops over them */
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

typedef struct process {
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
} process;

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
static tt_status add_axis(process *p, const tt__cost_model *m, size_t k) {
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
static double disagreement(const process *p) {
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

static void believe(process *p, bool is) {
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
static double in_common(const process *p, size_t a, size_t b) {
    double sum = 0;
    for (size_t k = 0; p->trust > 0 && k < p->priors->n; k++)
        sum += (double)p->priors->of[k][a] * (double)p->priors->of[k][b];
    return p->trust * sum;
}

static void add_in_common(const process *p, float *row, size_t i) {
    for (size_t k = 0; p->trust > 0 && k < p->priors->n; k++) {
        const float *of = p->priors->of[k];
        float f = (float)p->trust * of[i];
        for (size_t c = 0; c < p->n; c++)
            row[c] += f * of[c];
    }
}

/* ---- Rows ---------------------------------------------------------------------------------------------- */

static void forget(process *p) {
    memset(p->z, 0, sizeof p->z);
    memset(p->mean, 0, p->width * sizeof *p->mean);
    for (size_t c = 0; c < p->n; c++)
        p->variance[c] = shared + 1 + in_common(p, c, c);
}

static tt_status open(tt__gp **out, const tt__cost_model *m, const tt__priors *priors) {
    process *p = calloc(1, sizeof *p);
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

static void close(tt__gp *gp) {
    process *p = (process *)gp;
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
static void solve_row(process *p, size_t r) {
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

static tt_status add(tt__gp *gp) {
    process *p = (process *)gp;
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

static double amplitude(const process *p, double squares, double n) {
    return (squares + amplitude_weight * p->expected) / (n + amplitude_weight);
}

/* The process is about differences to the first value and to the priors. */
static double residual(const process *p, size_t r) {
    return p->gp.values[r] - p->offset - (double)p->opinion[p->gp.rows[r]];
}

/* The negative logarithm of the likelihood of the sample's values, and of the strengths. */
static double unlikelihood(const process *p, sample *s, double noise) {
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
static void improve(const process *p, sample *s, axis *x, double *strength, double *least) {
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
static void judge_priors(process *p, sample *s, double *least) {
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

static tt_status fit(tt__gp *gp) {
    process *p = (process *)gp;
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

static void find_offset(process *p) {
    for (size_t r = 0; r < p->gp.n_rows && !p->has_offset; r++)
        if ((p->has_offset = p->gp.known[r]))
            p->offset = p->gp.values[r];
}

/* A row without a result is set to its prediction from earlier rows, and so changes nothing. */
static void predict(tt__gp *gp, const double **mean, const double **deviation) {
    process *p = (process *)gp;
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

const tt__gp_kind tt__gp_product = {.open = open, .close = close, .add = add, .fit = fit, .predict = predict};
