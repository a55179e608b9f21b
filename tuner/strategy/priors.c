/*
 * Opinions are logarithms of times, squashed as the search squashes its own. A Gaussian process guesses what
 * the source has not tried.
 */
#include "tuner/strategy/priors.h"

#include <math.h>
#include <stdlib.h>

#include "tuner/strategy/gp.h"

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
