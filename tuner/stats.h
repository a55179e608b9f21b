/* The little statistics that decide: medians, and paired comparison with a confidence interval. */
#ifndef TT_TUNER_STATS_H
#define TT_TUNER_STATS_H

#include <stddef.h>

#include "base/model.h"

/* The median of n >= 1 values; reorders nothing. n is at most TT__SAMPLES_MAX. */
double tt__median(const float *values, size_t n);

/* The mean of the middle half of n >= 1 values, at most TT__SAMPLES_MAX. */
double tt__midmean(const float *values, size_t n);

/* The mean of the lower three quarters of n >= 1 values, at most TT__SAMPLES_MAX: some launches are a few
 * percent slower for outside reasons, none is faster. */
double tt__lower_mean(const float *values, size_t n);

/* To 0.1 ns, as the store keeps times: a run and its replay break ties alike. */
double tt__round_us(double us);

typedef struct tt__ratio {
    double median;    /* of a[i] / b[i] */
    double low, high; /* at least 95 % of the time the true median lies within; for n < 6 the extremes */
} tt__ratio;

/* Compares samples that were taken in the same rounds. n >= 1, at most TT__SAMPLES_MAX. */
tt__ratio tt__paired_ratio(const float *a, const float *b, size_t n);

/* Half the 95 % interval of the median, as a part of the median; for n < 6 half the range. n >= 1, at most
 * TT__SAMPLES_MAX. */
double tt__relative_spread(const float *values, size_t n);

/* The number of rounds, and of laps in each, for `worth` laps in all, or as many as the least takes. */
int tt__deal_rounds(const tt__rounds *r, double worth, int *laps);

#endif
