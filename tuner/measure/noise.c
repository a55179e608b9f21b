/*
 * Order statistics need no assumption about the distribution, and one outlier changes them little.
 */
#include "tuner/measure/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/model.h"

int tt__by_number(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle(const double *sorted, size_t n) {
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static void sort(double *sorted, const float *values, size_t n) {
    for (size_t i = 0; i < n; i++)
        sorted[i] = (double)values[i];
    qsort(sorted, n, sizeof *sorted, tt__by_number);
}

double tt__median(const float *values, size_t n) {
    double sorted[TT__SAMPLES_MAX];
    sort(sorted, values, n);
    return middle(sorted, n);
}

/* The mean without so many of the lowest and of the highest values. */
static double trimmed_mean(const float *values, size_t n, size_t low, size_t high) {
    double sorted[TT__SAMPLES_MAX], sum = 0;
    sort(sorted, values, n);
    for (size_t i = low; i < n - high; i++)
        sum += sorted[i];
    return sum / (double)(n - low - high);
}

double tt__midmean(const float *values, size_t n) {
    return trimmed_mean(values, n, n / 4, n / 4);
}

double tt__lower_mean(const float *values, size_t n) {
    return trimmed_mean(values, n, 0, n / 4);
}

double tt__round_us(double us) {
    return round(us * 1e4) / 1e4;
}

/* Sorts the values, and computes the median and its interval. */
static tt__ratio interval(double *values, size_t n) {
    qsort(values, n, sizeof *values, tt__by_number);
    /* Ranks by the normal approximation of the binomial, counted from 1: n/2 -+ 0.98 sqrt(n). */
    double low = floor((double)n / 2 - 0.98 * sqrt((double)n));
    size_t rank = low > 1 ? (size_t)low - 1 : 0;
    return (tt__ratio){middle(values, n), values[rank], values[n - 1 - rank]};
}

tt__ratio tt__paired_ratio(const float *a, const float *b, size_t n) {
    double ratios[TT__SAMPLES_MAX];
    for (size_t i = 0; i < n; i++)
        ratios[i] = (double)a[i] / (double)b[i];
    return interval(ratios, n);
}

double tt__relative_spread(const float *values, size_t n) {
    double sorted[TT__SAMPLES_MAX];
    sort(sorted, values, n);
    tt__ratio r = interval(sorted, n);
    return r.median > 0 ? (r.high - r.low) / 2 / r.median : 0;
}

/* Laps become samples while there is room for samples, because a mean of laps hides slow launches. */
int tt__deal_rounds(const tt__rounds *r, double worth, int *laps) {
    static const double enough = 0.75; /* of the maximum */
    double samples = fmax(enough * r->most, r->least);
    *laps = (int)fmax(1, fmin(floor(worth / samples), TT__LAPS_MAX));
    return (int)fmax(r->least, fmin(worth / *laps, r->most));
}
