/*
 * Which parameters matter: functional analysis of variance over trials. It splits the variance of a value
 * into what each parameter explains alone, what each pair explains beyond that, and the rest.
 *
 * The trials need not be complete. A forest of regression trees fills the gaps, so an illegal combination
 * counts like its neighbours (Hutter, Hoos and Leyton-Brown, 2014).
 */
#ifndef TT_TUNER_EXPLAIN_IMPORTANCE_H
#define TT_TUNER_EXPLAIN_IMPORTANCE_H

#include <stddef.h>

#include "base/status.h"
#include "kernel/model/template.h"

/* The trials as a table. Borrowed. */
typedef struct tt__importance_of {
    size_t n, n_params;              /* rows: at least 1; columns: at most TT__PARAMS_MAX */
    size_t n_levels[TT__PARAMS_MAX]; /* different values of each parameter, 1 to 256 */
    const unsigned char *level;      /* n x n_params: the index of the value; neighbours are alike */
    const double *value;             /* n, finite: for times their logarithm */
} tt__importance_of;

typedef struct tt__importance {
    double alone[TT__PARAMS_MAX];                /* shares of the variance, 0 to 1 */
    double pair[TT__PARAMS_MAX][TT__PARAMS_MAX]; /* beyond what the two explain alone; symmetric */
    double total[TT__PARAMS_MAX];                /* alone and with one other */
    double rest;                                 /* of three and more parameters, and of noise */
    double mean;
    double effect[TT__PARAMS_MAX][256]; /* the mean with this level, less the mean of all */
} tt__importance;

/* All is 0 if the values are all the same. The same table gives the same result. */
tt_status tt__importance_find(tt__importance *out, const tt__importance_of *of);

#endif
