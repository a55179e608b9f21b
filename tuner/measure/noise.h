/*
 * How noise is judged, and who is faster: medians, and paired comparison with a confidence interval.
 */
#ifndef TT_TUNER_MEASURE_NOISE_H
#define TT_TUNER_MEASURE_NOISE_H

#include <stddef.h>

#include "base/model.h"

/* Doubles in ascending order, for qsort. */
int tt__by_number(const void *a, const void *b);

/* The median of n values, 1 to TT__SAMPLES_MAX. Leaves their order unchanged. */
double tt__median(const float *values, size_t n);

/* The mean of the middle half of n values, 1 to TT__SAMPLES_MAX. */
double tt__midmean(const float *values, size_t n);

/* The mean of the lower three quarters of n values, 1 to TT__SAMPLES_MAX. Outside influences make some
 * launches a few percent slower, and never faster. */
double tt__lower_mean(const float *values, size_t n);

/* Rounds to 0.1 ns, as the store does, so that a run and its replay break ties in the same way. */
double tt__round_us(double us);

typedef struct tt__ratio {
    double median;    /* of a[i] / b[i] */
    double low, high; /* a confidence interval of at least 95 %; for n < 6 the extremes */
} tt__ratio;

/* Compares n samples, 1 to TT__SAMPLES_MAX, taken in the same rounds. */
tt__ratio tt__paired_ratio(const float *a, const float *b, size_t n);

/* Half the 95 % interval of the median, relative to the median; for n < 6 half the range. n is 1 to
 * TT__SAMPLES_MAX. */
double tt__relative_spread(const float *values, size_t n);

/* Divides `worth` laps in total into rounds: returns the number of rounds, and sets the number of laps in
 * each. There are at least `least` rounds. */
int tt__deal_rounds(const tt__rounds *r, double worth, int *laps);

#endif
